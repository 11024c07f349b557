"""Passages, questions, candidates and minimal pairs, and their withdrawal."""
