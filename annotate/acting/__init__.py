"""Acting on what was found: on people, on submitted work, on broken data, and where annotators differ."""
