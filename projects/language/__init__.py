"""The language of a page, and numbers, dates and names as people read them."""
