"""Panels: people whom a recruitment platform sends, their sessions, and the managers' pages of both."""
