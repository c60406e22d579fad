"""Random tokens and what is kept of them. Pure."""

import hashlib
import secrets

API_KEY_PREFIX = "slw_"


def new_token() -> str:
    """32 random bytes, safe in URLs and headers."""
    return secrets.token_urlsafe(32)


def new_api_key() -> str:
    return API_KEY_PREFIX + new_token()


def token_hash(token: str) -> str:
    """What the database keeps of a token: its SHA-256 (256 random bits need no salt)."""
    return hashlib.sha256(token.encode()).hexdigest()
