"""Krippendorff's alpha, comparisons of annotators, and the sample-size planner."""
