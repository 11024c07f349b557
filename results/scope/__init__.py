"""Which judgments a figure counts, and how they become gold scores."""
