"""What an annotator sees beside the work: projects, consent, instructions, messages, history, earnings."""
