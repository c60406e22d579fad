"""Decides at which URLs the pages of sandboxes are shown: at a separate host name for each port, or below a
path of Slipway's own address. This module does no I/O.

No sandbox page shares an origin with Slipway's pages. A page at a separate host name has a different origin.
A page below a path gets an opaque origin.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from starlette.datastructures import Headers
from starlette.types import Scope

from app_server.core.config import Config
from app_server.http.middleware import LOCAL_NAMES, allowed_host_names, host_name

OPEN_PATH: Final = "/.well-known/slipway-preview"
"""The path, at the host name of a port, that opens a link. The gateway replies with a cookie that contains
the link's token.
"""

_PREFIX = "/preview/"
_BELOW = re.compile(rf"({_PREFIX}([\w.-]+))(/.*)?")
_LABEL = r"p([1-9]\d{0,4})-([0-9a-f]{32})"


@dataclass(frozen=True)
class OwnName:
    """The location of a sandbox page that has a separate host name. `origin`: the origin of the pages at this
    host name. `port`: the port of the sandbox on which the program that serves the page listens.
    """

    origin: str
    sandbox_id: UUID
    port: int


@dataclass(frozen=True)
class Below:
    """The location of a sandbox page below a path of Slipway's own address.

    `origin`: the origin of Slipway's own address. `prefix`: the beginning of the path, which contains the
    link's token. `path`: the rest of the path, before percent-decoding; empty if the request has no slash
    after the prefix.
    """

    origin: str
    prefix: str
    token: str
    path: str


PreviewLocation = OwnName | Below


class PreviewOrigins:
    def __init__(self, config: Config) -> None:
        self._scheme = urlsplit(config.base_url).scheme
        self._own_names = allowed_host_names(config)
        suffix = config.preview_suffix
        self._named = re.compile(rf"{_LABEL}\.{re.escape(suffix)}") if suffix else None

    def find(self, scope: Scope) -> PreviewLocation | None:
        """Finds, from the host name or the path of the URL, the sandbox page to which this request goes, and
        returns the page's location. Returns None if the request goes to Slipway itself.
        """
        host = Headers(scope=scope).get("host", "").lower()
        name = host_name(host)
        if name is None:
            return None
        origin = f"{self._scheme}://{host}"
        if self._named and (match := self._named.fullmatch(name)):
            return OwnName(origin, UUID(match[2]), int(match[1]))
        match = _BELOW.fullmatch(scope["raw_path"].decode("latin-1"))
        if match and name in self._own_names:
            return Below(origin, match[1], match[2], match[3] or "")
        return None


def origin_of_port(config: Config, sandbox_id: UUID, port: int, asked_at: str) -> str | None:
    """Returns the origin (scheme, host name and port of the URL) at which a browser opens this port of the
    sandbox. The host name belongs to this port only. Returns None if the port has no separate host name for
    the user; the pages are then shown below a path of Slipway's own address.

    `asked_at`: the Host header of the user's request. Host names that end with `.localhost` work only in a
    browser on the server's machine, so they are used only if this header names the machine itself.
    """
    suffix = config.preview_suffix
    label = f"p{port}-{sandbox_id.hex}"
    if suffix is None:
        return None
    if suffix != "localhost":
        own_url = urlsplit(config.base_url)
        return f"{own_url.scheme}://{label}.{suffix}{f':{own_url.port}' if own_url.port else ''}"
    # Names below localhost lead to the browser's own machine, so the browser must run on this machine.
    parts = urlsplit(f"//{asked_at}")
    if parts.hostname not in LOCAL_NAMES:
        return None
    return f"http://{label}.localhost{f':{parts.port}' if parts.port else ''}"


def has_names(config: Config, asked_at: str) -> bool:
    """Returns whether each port of a sandbox has a separate host name for the user. `asked_at`: the Host
    header of the user's request, as for `origin_of_port`.
    """
    return origin_of_port(config, UUID(int=0), 1, asked_at) is not None


def own_origin(config: Config, asked_at: str) -> str:
    """Returns the origin of Slipway's own pages. This is the origin of the configured public URL. If no
    public URL is configured, the origin is built from `asked_at`, the Host header of the user's request.
    """
    if config.public_url:
        own_url = urlsplit(config.base_url)
        return f"{own_url.scheme}://{own_url.netloc}"
    return f"http://{asked_at}"


def prefix_of(token: str) -> str:
    return f"{_PREFIX}{token}"
