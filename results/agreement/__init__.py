"""Krippendorff's alpha, annotators compared, and the sample-size planner."""
