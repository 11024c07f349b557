"""Charts: specifications, drawing, and downloads."""
