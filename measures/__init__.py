"""Pure numbers: scales, agreement, intervals and gold scores, for the app and for notebooks alike."""
