"""The files of a judgment set: read from the database in one snapshot, the rest made of these alone, in one archive."""
