"""Files of judgments, straight from the database."""
