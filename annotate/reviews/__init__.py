"""Spot checks, adjudication, and comments and flags."""
