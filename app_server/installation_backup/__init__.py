"""A backup of a whole installation in one file: the database, the home and a list of their checksums."""
