"""Snapshots, prepared statements, locks, numbering, and the guard against formulas in CSV."""
