"""Studies: how automatic metrics agree with people, computed once and kept with what they were asked."""
