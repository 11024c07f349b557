"""Charts: specifications, drawing, and answers as files."""
