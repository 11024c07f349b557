"""Snapshots, prepared statements and CSV."""
