"""Support for Bitbucket Data Center, which companies run on their own servers."""
