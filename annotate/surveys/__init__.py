"""Surveys as managers see them: their questions, version by version, and the answers."""
