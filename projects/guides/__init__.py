"""The guides of the docs as pages of the site: read from Markdown, offline."""
