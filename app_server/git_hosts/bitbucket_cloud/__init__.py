"""Bitbucket Cloud, at bitbucket.org."""
