"""The web server: gunicorn, with requests and responses that take no thread while they are on the wire."""
