"""Support for GitLab, on gitlab.com and self-hosted."""
