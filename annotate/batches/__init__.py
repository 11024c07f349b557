"""Batches: created, opened, watched, changed and closed."""
