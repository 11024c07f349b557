"""The API of results: agreement and judgment sets."""
