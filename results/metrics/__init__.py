"""Automatic metrics: known ones, runs over a project's candidates, and their scores."""
