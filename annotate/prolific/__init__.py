"""Prolific: a client of its API, studies from draft to payment, submissions, bonuses, and the managers' pages."""
