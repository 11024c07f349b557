"""Django's database backend for PostgreSQL, with a cheaper check of idle connections."""
