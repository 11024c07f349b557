"""Template filters of results."""
