"""Scores of systems, and replication."""
