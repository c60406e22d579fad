"""Verifies the signatures of git hosts' webhooks, and parses their contents. Pure."""
