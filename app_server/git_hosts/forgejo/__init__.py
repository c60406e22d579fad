"""Support for Forgejo and Gitea."""
