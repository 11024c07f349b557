"""Taking, rating, submitting and revising a HIT."""
