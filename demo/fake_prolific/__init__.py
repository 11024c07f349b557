"""A fake of Prolific: its API over HTTP as documented, with transitions, webhooks and faults to order."""
