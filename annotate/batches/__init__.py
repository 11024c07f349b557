"""Batches: cut, opened, watched, changed and closed."""
