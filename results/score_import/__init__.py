"""Scores by metrics, from a file."""
