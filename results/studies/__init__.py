"""Studies: how the scores of metrics agree with those of people."""
