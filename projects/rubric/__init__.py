"""Rubrics, their presets, versions and pages."""
