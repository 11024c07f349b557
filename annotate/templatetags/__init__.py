"""What the rating page's template asks of Python."""
