"""The overview of a project, its next step, and the results of one batch."""
