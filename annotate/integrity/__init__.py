"""Rules that stored rows must keep, and the check of them."""
