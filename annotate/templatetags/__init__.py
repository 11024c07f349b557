"""Template tags and filters of judging."""
