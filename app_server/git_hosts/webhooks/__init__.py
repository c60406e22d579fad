"""Verifies and reads the webhooks of git hosts. Pure."""
