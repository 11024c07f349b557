"""Controls: items whose right answer is known, hidden among the ordinary ones; planned, made, accepted and drawn."""
