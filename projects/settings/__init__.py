"""Creating a project, its settings, deleting and restoring it."""
