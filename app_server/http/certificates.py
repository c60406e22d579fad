"""The certificate authorities that our clients trust, read once for each process."""

import ssl
from functools import cache

import httpx


@cache
def public_authorities() -> ssl.SSLContext:
    """Those httpx trusts by default. Reading the file takes about 25 ms, so all clients share one context."""
    return httpx.create_ssl_context()
