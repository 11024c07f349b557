"""Files turned into tables: uploaded, checked, staged, written."""
