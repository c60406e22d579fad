"""Sign-in by login name and password, with codes of an authenticator app as a second factor."""
