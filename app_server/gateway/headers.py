"""Decides which HTTP headers the gateway passes on: from a browser's request to a sandbox, and from the
sandbox's reply to the browser. The gateway is the way from browsers to sandboxes. This module does no I/O.

Slipway's cookies and keys never reach the sandbox. Headers of a reply that could affect pages at other
addresses than the sandbox's page are removed or changed.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from agent_runtime.relay.target import Header, end_to_end, without
from agent_runtime.wire import RELAY_KEY_HEADER
from app_server.gateway.preview_origins import Below, OwnName, PreviewLocation
from app_server.http.middleware import SESSION_COOKIES
from app_server.users.tokens import API_KEY_PREFIX

PREVIEW_COOKIES: Final = ("__Host-slipway_preview", "slipway_preview")
_OUR_COOKIES = frozenset((*SESSION_COOKIES, *PREVIEW_COOKIES))

_KEY = RELAY_KEY_HEADER.lower().encode()
_REPLACED = (b"host", b"origin", b"referer", b"cookie", b"forwarded", b"x-real-ip", _KEY)
_FORWARDED_PREFIX = b"x-forwarded-"
_CREDENTIALS = (b"authorization", b"x-session-api-key")

# Headers that affect more than their reply: other hosts of the domain, other pages, later connections.
_FAR_REACHING = (
    *(b"clear-site-data", b"strict-transport-security", b"public-key-pins", b"alt-svc", b"nel", b"report-to"),
    b"reporting-endpoints",
)
# Reverse proxies in front of Slipway, such as nginx, obey these headers of a reply: they send another file,
# or change how they limit and store the reply.
_TO_PROXIES = (b"x-accel-", b"x-sendfile", b"x-lighttpd-", b"x-litespeed-")
# On our own origin, only headers that are known to affect nothing but their reply are kept.
_HARMLESS = frozenset(
    {b"accept-ranges", b"age", b"allow", b"cache-control", b"content-disposition", b"content-encoding"}
    | {b"content-language", b"content-length", b"content-range", b"content-security-policy", b"content-type"}
    | {b"etag", b"expires", b"last-modified", b"location", b"pragma", b"retry-after", b"vary"}
)
_OPAQUE_ORIGIN = b"sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads"


def request_headers(
    given: Iterable[Header], location: PreviewLocation, port: int, session_key: str
) -> list[Header]:
    """Returns the headers that the gateway sends to the agent server for a browser's request to a port of the
    sandbox.

    `Origin` and `Referer` are replaced by the address of the program that listens on the port, so the program
    treats the request as a request from its own pages.
    """
    headers = end_to_end(given)
    passed = [
        (name, value)
        for name, value in without(headers, _REPLACED)
        if not name.startswith(_FORWARDED_PREFIX) and not _is_our_key(name, value)
    ]
    passed += [
        (name, _localised(value, location, port))
        for name, value in headers
        if name in {b"origin", b"referer"}
    ]
    if isinstance(location, Below):
        passed.append((b"x-forwarded-prefix", location.prefix.encode()))
    else:
        passed += [
            (name, rest) for name, value in headers if name == b"cookie" and (rest := _foreign_cookies(value))
        ]
    return [*passed, (_KEY, session_key.encode())]


def reply_headers(
    given: list[Header], location: PreviewLocation, port: int, framed_by: Sequence[str]
) -> list[Header]:
    """Returns the headers that the gateway sends to the browser for a sandbox's reply. `given`: the headers
    of the sandbox's reply.

    `location`: where the browser sees the page, at a separate host name or below a path. `port`: the port of
    the program in the sandbox. `framed_by`: the origins whose pages may show this page in a frame.
    """
    given = [(name, value) for name, value in given if not name.startswith(_TO_PROXIES)]
    if isinstance(location, OwnName):
        return [
            *_with_own_cookies(_moved(without(given, _FAR_REACHING), port, prefix="")),
            (b"content-security-policy", f"frame-ancestors {' '.join(framed_by)}".encode()),
        ]
    harmless = [(name, value) for name, value in given if name in _HARMLESS or name.startswith(b"x-")]
    return [
        *_moved(harmless, port, prefix=location.prefix),
        (b"content-security-policy", _OPAQUE_ORIGIN),
        (b"referrer-policy", b"no-referrer"),
        *SHARED_WITH_OPAQUE_ORIGINS,
    ]


SHARED_WITH_OPAQUE_ORIGINS: Final[tuple[Header, ...]] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"*"),
)
"""The CORS headers for replies to pages in an opaque origin. The browser treats the address of such a page as
another origin. These headers allow the page to load its modules and to send requests to the program in the
sandbox that serves the page.
"""


def _is_our_key(name: bytes, value: bytes) -> bool:
    return name in _CREDENTIALS and API_KEY_PREFIX.encode() in value


def _localised(url: bytes, location: PreviewLocation, port: int) -> bytes:
    """Converts the URL at which the browser sees a sandbox's page to the URL that the program in the sandbox
    uses for the page, such as `http://localhost:PORT/a`. All other URLs are returned unchanged.

    `url`: the value of the header `Origin` or `Referer`. It can be `null`, which browsers send as the origin
    of a page below a path; this is converted to `http://localhost:PORT`. `location`: where the browser sees
    the page. `port`: the program's port.
    """
    here = location.origin.encode() + (location.prefix.encode() if isinstance(location, Below) else b"")
    local = f"http://localhost:{port}".encode()
    if url == b"null" and isinstance(location, Below):
        return local
    is_here = url == here or url.startswith(here + b"/")
    return local + url.removeprefix(here) if is_here else url


def _foreign_cookies(value: bytes) -> bytes:
    pairs = [pair.strip() for pair in value.split(b";")]
    return b"; ".join(pair for pair in pairs if pair and not _is_our_cookie(pair))


def _is_our_cookie(pair: bytes) -> bool:
    return pair.partition(b"=")[0].strip().decode("latin-1") in _OUR_COOKIES


def _with_own_cookies(headers: list[Header]) -> list[Header]:
    return [
        (name, _host_only(value) if name == b"set-cookie" else value)
        for name, value in headers
        if not (name == b"set-cookie" and _is_our_cookie(value))
    ]


def _host_only(cookie: bytes) -> bytes:
    parts = cookie.split(b";")
    return b";".join(part for part in parts if not part.strip().lower().startswith(b"domain"))


def _moved(headers: list[Header], port: int, *, prefix: str) -> list[Header]:
    return [
        (name, _moved_location(value, port, prefix) if name == b"location" else value)
        for name, value in headers
    ]


def _moved_location(location: bytes, port: int, prefix: str) -> bytes:
    """Converts the target of a redirect to a path below `prefix`, so that the browser stays at the URL where
    the gateway shows the page. For example, converts `http://localhost:PORT/a` to `PREFIX/a`.

    `location`: the target, as the program in the sandbox has sent it. It is changed only if it is a path from
    the root or an address of the program (`localhost` with this port). `port`: the program's port. `prefix`:
    the path below which the gateway shows the page; empty if the page has a separate host name.
    """
    text = location.decode("latin-1")
    local = re.match(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(?=[/?#]|$)", text, re.IGNORECASE)
    if local and _port_of(local[0]) == port:
        text = text[local.end() :]
        text = text if text.startswith("/") else f"/{text}"
    elif not text.startswith("/") or text.startswith("//"):
        return location
    is_there = text == prefix or text.startswith(f"{prefix}/")
    return (text if is_there else prefix + text).encode("latin-1")


def _port_of(url: str) -> int:
    parts = urlsplit(url)
    try:
        return parts.port or {"http": 80, "https": 443}[parts.scheme]
    except ValueError:
        return 0
