"""Webhooks: events written as messages, delivered by the worker, and the managers' pages."""
