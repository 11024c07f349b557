"""The leaderboard: all metrics of a project side by side, with ranks that metrics share unless they differ."""
