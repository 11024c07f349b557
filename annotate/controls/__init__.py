"""Controls: items with a known or expected rating among the work, their pool, and how they are made and sampled."""
