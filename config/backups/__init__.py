"""Backups: one file with the database and the stored files, made while the site runs, and restored."""
