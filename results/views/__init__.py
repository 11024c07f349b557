"""The pages of the results."""
