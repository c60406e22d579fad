"""Support for GitHub and GitHub Enterprise Server."""
