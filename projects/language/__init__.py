"""Languages, amounts and names as people read them."""
