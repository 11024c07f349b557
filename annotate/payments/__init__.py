"""The ledger in cents, and payments made from it."""
