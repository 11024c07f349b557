"""Metric evaluations: automatic metrics against human judgments."""
