"""Bitbucket Data Center, in companies."""
