"""Decisions on submitted work and on members: approve, reject, warn, suspend, remove, restore."""
