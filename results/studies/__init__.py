"""Metric evaluations: automatic metrics compared with human judgments."""
