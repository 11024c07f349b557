"""E-mail notices: what needs somebody, in one short message."""
