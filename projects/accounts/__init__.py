"""Signing in, passwords, and a user's own account."""
