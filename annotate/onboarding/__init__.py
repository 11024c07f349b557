"""What an annotator confirms before the work: consent, instructions, notices."""
