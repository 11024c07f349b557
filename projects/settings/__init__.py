"""A project made, set up, deleted and restored."""
