"""Studies of how automatic metrics follow people: correlations, significance, sweeps and errors, as pure functions."""
