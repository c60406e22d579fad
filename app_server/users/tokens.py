"""Creates random tokens and API keys, and computes their hashes. The functions here do no I/O."""

import hashlib
import secrets

API_KEY_PREFIX = "slw_"


def new_token() -> str:
    """Returns a new token from 32 random bytes. The characters of the token are safe in URLs and HTTP
    headers.
    """
    return secrets.token_urlsafe(32)


def new_api_key() -> str:
    return API_KEY_PREFIX + new_token()


def token_hash(token: str) -> str:
    """Returns the SHA-256 hash of a token, which is stored in the database. The hash has no salt, because a
    token has 256 random bits.
    """
    return hashlib.sha256(token.encode()).hexdigest()
