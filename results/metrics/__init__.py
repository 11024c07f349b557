"""Automatic metrics of a project's candidates: computed here or brought from outside, and read by pages and studies."""
