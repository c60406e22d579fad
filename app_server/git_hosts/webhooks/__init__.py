"""Verifies the signatures of git hosts' webhooks, and parses their contents. Does no I/O."""
