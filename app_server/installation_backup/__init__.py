"""Writes and restores backups of a whole installation. A backup is one file with the database, the home (the
server's data directory) and a list of checksums.
"""
