"""Several organisations in one installation: people of one see nothing of the others."""
