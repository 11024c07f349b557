"""Template tags and filters that every app may use."""
