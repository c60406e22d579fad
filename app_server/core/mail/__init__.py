"""Sends e-mail through the configured mail server (SMTP)."""
