"""Automatic metrics: registered, run, stored, shown."""
