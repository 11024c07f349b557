"""Members, roles and invitations."""
