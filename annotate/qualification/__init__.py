"""The qualification test: its items, attempts, results and admission."""
