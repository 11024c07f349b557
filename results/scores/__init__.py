"""Scores: of candidates, of systems, and where annotators differ."""
