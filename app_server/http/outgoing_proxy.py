"""The proxy through which this server reaches the internet, for example in a company network. The proxy is
configured with `HTTPS_PROXY` and similar environment variables.

The server checks a host before it sends a request to the proxy. The proxy receives the host name and resolves
it again, so it may use another address than the one that this server has checked.
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
    """One outgoing proxy. `url`: its URL in the form that httpx needs. `authorization`: the value of the
    `Proxy-Authorization` header; None if the proxy needs no such header.
    """

    url: str = field(repr=False)
    host: str
    port: int
    authorization: str | None = field(repr=False)


@dataclass(frozen=True)
class Upstream:
    """The configuration of the outgoing proxies. `http`, `https`: the proxy for URLs with this scheme; None
    if there is none. `exempt`: the value of `NO_PROXY`, a list of names, domain endings, addresses and
    networks that are called without a proxy.
    """

    http: UpstreamProxy | None = None
    https: UpstreamProxy | None = None
    exempt: str = ""

    def proxy_for(self, host: str, scheme: Scheme = "https") -> UpstreamProxy | None:
        """Returns the proxy for calls to a host. Returns None if the host is called directly. `host`: a
        normalised host name or address.
        """
        proxy = self.https if scheme == "https" else self.http
        exempt = (text.strip().lower() for text in self.exempt.split(","))
        return None if any(_covers(text, host) for text in exempt if text) else proxy


def upstream_of(environment: Mapping[str, str] = os.environ) -> Upstream:
    """Reads the outgoing proxies from the environment variables. Returns the proxies. Raises
    ConfigurationError for a proxy whose URL does not begin with `http://`.
    """
    return Upstream(
        http=_proxy(environment, "http_proxy"),
        https=_proxy(environment, "https_proxy"),
        exempt=environment.get("no_proxy") or environment.get("NO_PROXY") or "",
    )


def _covers(exempt: str, host: str) -> bool:
    """Returns whether `exempt`, one entry of `NO_PROXY`, applies to the host. The entry `*` applies to every
    host. An entry with a name applies to this name and all names below it, whether or not the entry begins
    with `.` or `*.`.
    """
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
