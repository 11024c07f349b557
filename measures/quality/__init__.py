"""The quality of one annotator's work: figures, each with its n or the reason why it is undefined, and findings."""
