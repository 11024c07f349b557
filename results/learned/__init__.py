"""Models of learned metrics: the registry of the site, their page, and what computing with them costs."""
