"""Email notices: what needs somebody, in one short message."""
