"""Signing in, passwords and one's own account."""
