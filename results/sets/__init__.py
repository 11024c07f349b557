"""Frozen judgment sets."""
