"""The state of a project and of one batch, with its next step."""
