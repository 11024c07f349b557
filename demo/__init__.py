"""The demo project with its corpus, and simulated annotators."""
