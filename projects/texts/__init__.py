"""Instructions, consent and worked examples."""
