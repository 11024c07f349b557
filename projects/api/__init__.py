"""Tokens, authentication, shapes and the description of the REST API."""
