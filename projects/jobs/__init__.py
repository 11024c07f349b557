"""The queue of long jobs, and running them."""
