"""Scores by other metrics, imported from a file."""
