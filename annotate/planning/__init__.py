"""Overlap plans: how many judgments each part of the data gets."""
