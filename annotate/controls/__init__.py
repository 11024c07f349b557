"""Hidden items among the work: their pool, how they are made and sampled."""
