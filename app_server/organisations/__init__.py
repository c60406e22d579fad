"""Several organisations in one installation. People of one organisation cannot see data of another."""
