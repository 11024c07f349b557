"""Figures of annotators, and the findings drawn from them."""
