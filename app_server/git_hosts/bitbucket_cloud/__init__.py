"""Support for Bitbucket Cloud, at bitbucket.org."""
