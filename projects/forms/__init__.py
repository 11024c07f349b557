"""Forms: the shape of what people send; the rules are in the acts."""
