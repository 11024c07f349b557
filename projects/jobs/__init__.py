"""Long jobs: their queue, the worker that runs one, and their part of a page."""
