"""Pay: a ledger in cents, what is owed, approved and paid, and the file of a payment."""
