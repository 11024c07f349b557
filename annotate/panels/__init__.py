"""Panels: people whom a recruitment platform sends, their sessions, and the managers' pages of both.

The states of a session, and what each changes, are in `sessions`. Whom a link lets in is decided in
`annotate.desk.arriving`, which addresses say who arrives in `annotate.onboarding.arrival_ids`, when a place is kept for
somebody in `annotate.places.reserving`, and what a platform owes in `annotate.payments.panel_pay`.
"""
