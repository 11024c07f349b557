"""What templates ask of Python."""
