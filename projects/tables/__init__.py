"""Tables of figures: described once, shown on pages, and written as CSV, LaTeX and Markdown."""
