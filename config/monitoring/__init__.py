"""Monitoring: the health of the site, its metrics, and the addresses at which other programs read them."""
