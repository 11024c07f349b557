"""Words of the templates that every app may use."""
