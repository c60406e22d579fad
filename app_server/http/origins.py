"""Compares the origins (scheme, host and port) of URLs."""

import httpx

_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_same_origin(one: str, other: str) -> bool:
    """Returns whether two URLs have the same scheme, host and port. Raises httpx.InvalidURL if one of them is
    not a valid URL.
    """
    url = httpx.URL(other)
    return is_at(httpx.URL(one), url.scheme, url.host, url.port)


def is_at(url: httpx.URL, scheme: str, host: str, port: int | None) -> bool:
    """Returns whether a URL has this scheme, host and port. `port`: None means the default port of the
    scheme.
    """
    usual = _DEFAULT_PORTS.get(scheme)
    return (url.scheme, url.host, url.port or usual) == (scheme, host.lower(), port or usual)
