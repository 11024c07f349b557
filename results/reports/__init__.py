"""Figures computed by a page or by a job, and kept."""
