"""Where one is in a project: the groups of pages, the entries drawn for a member, and their template context."""
