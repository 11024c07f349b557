"""The rating page, and what it sends."""
