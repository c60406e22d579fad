"""Creates random tokens and computes their hashes. This module does no I/O."""

import hashlib
import secrets

API_KEY_PREFIX = "slw_"


def new_token() -> str:
    """Returns a random token of 32 bytes, safe in URLs and headers."""
    return secrets.token_urlsafe(32)


def new_api_key() -> str:
    return API_KEY_PREFIX + new_token()


def token_hash(token: str) -> str:
    """Returns the SHA-256 hash of a token, as the database stores it. A token of 256 random bits needs no
    salt.
    """
    return hashlib.sha256(token.encode()).hexdigest()
