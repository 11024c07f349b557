"""Benchmarks, one per module; README.md says what each measures."""
