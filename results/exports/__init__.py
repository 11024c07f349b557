"""Exports: files of judgments, straight from the database."""
