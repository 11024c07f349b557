"""The process: settings, servers, command line."""
