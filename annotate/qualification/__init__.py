"""The qualification test, for managers: its settings and items, and what annotators did in it."""
