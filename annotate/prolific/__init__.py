"""Prolific: a client of its API, studies from draft to payment, submissions, bonuses, and the managers' pages.

Which calls are repeated, `calling` decides; those of `bonuses` never are. How many places a study has, and when it
pauses, is in `following`.
"""
