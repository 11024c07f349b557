"""Qualification: a project's test, its items, attempts at it, who is admitted to the work and why not."""
