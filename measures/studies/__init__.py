"""Metric evaluation, as pure functions: correlation with human scores, significance, sweeps, errors, minimal pairs."""
