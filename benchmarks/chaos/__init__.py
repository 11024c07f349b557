"""Failures of everything that a site runs on, one after another, while people work: `python -m benchmarks.chaos`."""
