"""Tables turned into frames of judgments."""
