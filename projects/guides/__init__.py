"""The guides of docs/ as pages of the site, rendered from Markdown without any request to another host."""
