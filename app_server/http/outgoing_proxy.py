"""The proxy by which this machine reaches the outside, where a company has one: `HTTPS_PROXY` and its like.

What goes through it is judged before. The address that a name leads to is then the proxy's to find: it is
asked by name, and it need not use the address that this server has looked up.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Literal
from urllib.parse import unquote, urlsplit

from app_server.core.addresses import is_address
from app_server.core.errors import ConfigurationError

Scheme = Literal["http", "https"]
DEFAULT_PORT = 80


@dataclass(frozen=True)
class UpstreamProxy:
    """url: as httpx takes it. authorization: a `Proxy-Authorization`, if it wants one."""

    url: str = field(repr=False)
    host: str
    port: int
    authorization: str | None = field(repr=False)


@dataclass(frozen=True)
class Upstream:
    """Which proxy is for what. exempt: a `NO_PROXY`: names, what ends with them, addresses, networks."""

    http: UpstreamProxy | None = None
    https: UpstreamProxy | None = None
    exempt: str = ""

    def proxy_for(self, host: str, scheme: Scheme = "https") -> UpstreamProxy | None:
        """None: it is called directly. host: in its one spelling."""
        proxy = self.https if scheme == "https" else self.http
        exempt = (text.strip().lower() for text in self.exempt.split(","))
        return None if any(_covers(text, host) for text in exempt if text) else proxy


def upstream_of(environment: Mapping[str, str] = os.environ) -> Upstream:
    """What the environment names. Raises ConfigurationError for a proxy that is not spoken to over http."""
    return Upstream(
        http=_proxy(environment, "http_proxy"),
        https=_proxy(environment, "https_proxy"),
        exempt=environment.get("no_proxy") or environment.get("NO_PROXY") or "",
    )


def _covers(exempt: str, host: str) -> bool:
    """`*` is everything; a name is itself and all below it, with or without a dot or `*.` before it."""
    if is_address(host):
        try:
            return exempt == "*" or ip_address(host) in ip_network(exempt, strict=False)
        except ValueError:
            return False  # a name
    name = exempt.removeprefix("*").removeprefix(".").partition(":")[0]
    return exempt == "*" or host == name or host.endswith(f".{name}")


def _proxy(environment: Mapping[str, str], name: str) -> UpstreamProxy | None:
    text = environment.get(name) or environment.get(name.upper())
    if not text:
        return None
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or DEFAULT_PORT
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "http":
        raise ConfigurationError(f"{name.upper()}: only a proxy at http://HOST:PORT can be used")
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return UpstreamProxy(url, host, port, authorization)
