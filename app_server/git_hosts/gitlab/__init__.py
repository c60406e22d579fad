"""GitLab, on gitlab.com and self-hosted."""
