"""What precedes an annotator's work: arriving from a panel, consent, surveys, instructions, notices; and leaving."""
