"""The REST API: its door, its problems, its pages, its description; content comes from the apps above."""
