"""Figures of annotators, and the findings (on pages: alerts) drawn from them."""
