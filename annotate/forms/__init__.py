"""Forms: what each page takes; the rules are in the acts that they call."""
