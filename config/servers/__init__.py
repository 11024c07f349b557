"""The private servers: how each is installed on disk, started and stopped."""
