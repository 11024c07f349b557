"""Where annotators differ, and single items."""
