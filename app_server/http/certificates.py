"""The certificate authorities that the HTTP clients of this server trust, read once per process."""

import ssl
from functools import cache

import httpx


@cache
def public_authorities() -> ssl.SSLContext:
    """Returns a TLS context with the certificate authorities that httpx trusts by default. All clients share
    this context, because reading the file of authorities takes about 25 ms.
    """
    return httpx.create_ssl_context()
