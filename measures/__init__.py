"""Statistics without Django: rubrics, agreement, gold scores, quality, metrics and their evaluation."""
