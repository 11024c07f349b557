"""Judgment sets: frozen, downloaded, compared and retired."""
