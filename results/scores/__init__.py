"""Gold scores."""
