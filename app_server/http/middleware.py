"""Middleware for every request: a request id, checks of the headers Host and Origin, size limits and response
headers. All classes are plain ASGI, so that streams and WebSockets pass through unchanged.
"""

import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_runtime.time_limits import time_limit
from app_server.core.config import Config
from app_server.core.errors import on_unexpected, problem
from app_server.core.logs import bind
from app_server.http.json_limits import bounded_values
from app_server.http.large_bodies import stated_length

logger = logging.getLogger(__name__)

SESSION_COOKIES: Final = ("__Host-slipway_session", "slipway_session")
"""The names of the session cookie over HTTPS and over HTTP. With the prefix `__Host-`, browsers do not accept
the cookie from pages of subdomains.
"""

PAGE_PROOF_HEADER: Final = "x-slipway-proof"
PAGE_PROOF_SUBPROTOCOL: Final = "slipway.proof."
"""The beginning of the WebSocket subprotocol that contains the page proof (a secret that only pages of this
server's origin know). The proof is not in a header, because a browser cannot set headers on a WebSocket.
"""

SUBPROTOCOL: Final = "slipway"
"""The subprotocol of this server's WebSockets. If a browser offers subprotocols, the server must
select one of them.
"""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_NO_OTHER_LIMITS: Mapping[str, int] = MappingProxyType({})
PIECE_SECONDS = 60.0
_WILDCARD_HOSTS = frozenset({"0.0.0.0", "::", ""})

# Styles may be inline (dialogs and toasts set them); scripts never.
_CONTENT_SECURITY_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def session_cookie(config: Config) -> str:
    """Returns the name of the cookie that keeps a browser signed in."""
    return SESSION_COOKIES[0 if config.base_url.startswith("https:") else 1]


def api_key_of(connection: HTTPConnection) -> str | None:
    """Returns the API key in the headers of a request: `X-Session-API-Key: KEY` or `Authorization: Bearer
    KEY`.

    Returns None if there is no such header. Returns an empty text for an empty key. An empty key counts as a
    wrong key, so that the browser's session cookie is not used in its place.
    """
    headers = connection.headers
    if key := headers.get("x-session-api-key"):
        return key
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return headers.get("x-session-api-key")


def page_proof_of(connection: HTTPConnection) -> str | None:
    """Returns the page proof of a request, or None if the request contains none. The page proof is a secret
    text that only pages of this server's origin know. A request with the session cookie must also contain it.

    A request contains the proof in the header PAGE_PROOF_HEADER. A WebSocket contains it as a subprotocol,
    because a page cannot set headers of a WebSocket.
    """
    if connection.scope["type"] != "websocket":
        return connection.headers.get(PAGE_PROOF_HEADER)
    offered: list[str] = connection.scope["subprotocols"]
    found = [one for one in offered if one.startswith(PAGE_PROOF_SUBPROTOCOL)]
    return found[0].removeprefix(PAGE_PROOF_SUBPROTOCOL) if found else None


def security_headers(config: Config) -> Mapping[str, str]:
    """Returns the security headers of Slipway's own pages. These pages may embed pages of sandboxes in frames
    and no other pages.
    """
    suffix, own_url = config.preview_suffix, urlsplit(config.base_url)
    port = ":*" if suffix == "localhost" else f":{own_url.port}" if own_url.port else ""
    frames = f"; frame-src 'self' {own_url.scheme}://*.{suffix}{port}" if suffix else ""
    return {**SECURITY_HEADERS, "Content-Security-Policy": _CONTENT_SECURITY_POLICY + frames}


class RequestContext:
    """The outermost middleware. It gives each request an id, adds headers to the response and turns an
    unexpected error into an error reply (problem document, RFC 9457).

    `page_headers`: headers for every response. If `page_headers` is empty, no header is added, not even the
    request id; this is used for pages of sandboxes.
    """

    def __init__(self, app: ASGIApp, *, page_headers: Mapping[str, str] = SECURITY_HEADERS) -> None:
        self._app = app
        self._page_headers = page_headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        # An id from outside would let a client forge our log lines.
        request_id = scope["slipway.request_id"] = secrets.token_hex(8)
        bind(request_id=request_id)
        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                if self._page_headers:
                    _add_headers(message, self._page_headers, request_id, scope["path"])
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            if scope["type"] != "http":
                raise
            if has_started:
                # A reply that fails in the middle must end with a cut connection. The server cuts the
                # connection of a reply that is not finished.
                logger.exception("a reply broke off")
                return
            response = await on_unexpected(Request(scope), error)
            await response(scope, receive, send_with_headers)


class HostCheck:
    """A middleware that refuses a request whose Host header names another server (421). This prevents DNS
    rebinding.
    """

    def __init__(self, app: ASGIApp, *, config: Config) -> None:
        self._app = app
        self._names = allowed_host_names(config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or host_name(Headers(scope=scope).get("host", "")) in self._names:
            await self._app(scope, receive, send)
            return
        await _refuse(
            scope,
            receive,
            send,
            status=421,
            code="host_not_allowed",
            detail="This server does not answer to the name in the Host header.",
            fix="Add the name to SLIPWAY_ALLOWED_HOSTS, or set SLIPWAY_PUBLIC_URL.",
        )


class OriginCheck:
    """A middleware that refuses requests from pages of other sites (403), because browsers may add the user's
    cookie to them. It recognises these requests by the header Origin. A request without this header is
    refused if it contains the cookie. Requests that cannot change anything, and requests with an API key, are
    allowed.

    `foreign_forms`: the paths that accept forms sent by pages of other sites. The routes of these paths do
    not read the user's cookie.
    """

    def __init__(self, app: ASGIApp, *, config: Config, foreign_forms: re.Pattern[str]) -> None:
        self._app = app
        self._foreign_forms = foreign_forms
        self._public_netloc = urlsplit(config.base_url).netloc.lower()
        self._cookie = session_cookie(config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_safe(scope) or self._is_ours(HTTPConnection(scope)) or self._is_foreign_form(scope):
            await self._app(scope, receive, send)
            return
        await _refuse(
            scope,
            receive,
            send,
            status=403,
            code="origin_not_allowed",
            detail="This request did not come from our own pages.",
            fix="Open Slipway at its own address, or use an API key instead of the browser's cookie.",
        )

    def _is_foreign_form(self, scope: Scope) -> bool:
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        return is_post and self._foreign_forms.fullmatch(scope["path"]) is not None

    def _is_ours(self, connection: HTTPConnection) -> bool:
        if api_key_of(connection) is not None:
            return True  # No browser adds these by itself, and the cookie is ignored then.
        if (origin := connection.headers.get("origin")) is None:
            return self._cookie not in connection.cookies
        return _netloc(origin) in {connection.headers.get("host", "").lower(), self._public_netloc}


class BodyLimit:
    """A middleware that refuses requests with a body or a URL that is not allowed. Status 413: the body is
    longer than the limit of its path, or a JSON body has too many values. Status 400: the URL contains a null
    character. Status 408: no piece of the body arrives for `piece_seconds` seconds.

    `max_bytes`: the usual limit in bytes. `above`: limits that are higher than `max_bytes`, for some paths.
    `below`: limits that are lower, for some paths. Both map the beginning of a path to a limit in bytes.
    `streamed`: the beginnings of paths whose bodies are not checked, because they are never held in memory.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_bytes: int,
        below: Mapping[str, int] = _NO_OTHER_LIMITS,
        above: Mapping[str, int] = _NO_OTHER_LIMITS,
        streamed: tuple[str, ...] = (),
        piece_seconds: float = PIECE_SECONDS,
    ) -> None:
        self._app = app
        self._piece_seconds = piece_seconds
        self._max_bytes = max_bytes
        self._below = below
        self._above = above
        self._streamed = streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if "\x00" in scope["path"] or b"%00" in scope["query_string"]:
            detail = "The address must not contain null characters."
            await _refuse(scope, receive, send, status=400, code="bad_request", detail=detail)
            return
        limit = self._limit(scope["path"])
        if scope["path"].startswith(self._streamed):
            await self._app(scope, receive, send)
        elif stated_length(scope) > limit:
            detail = f"The body must not be larger than {limit} bytes."
            await _refuse(scope, receive, send, status=413, code="payload_too_large", detail=detail)
        else:
            limited = _limited(receive, limit, self._piece_seconds)
            await self._app(scope, bounded_values(scope, limited), send)

    def _limit(self, path: str) -> int:
        lower = [limit for beginning, limit in self._below.items() if path.startswith(beginning)]
        higher = [limit for beginning, limit in self._above.items() if path.startswith(beginning)]
        return min([max([self._max_bytes, *higher]), *lower])


def _limited(receive: Receive, max_bytes: int, piece_seconds: float) -> Callable[[], Awaitable[Message]]:
    seen, is_whole = 0, False

    async def receive_limited() -> Message:
        nonlocal seen, is_whole
        try:
            # After the body, only the end of the connection can follow, which has no time limit.
            async with time_limit(None if is_whole else piece_seconds):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"No data of the body arrived for {piece_seconds:g} seconds.") from None
        is_whole = not message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen > max_bytes:
            # While it parses a body, the framework passes on no other exception class.
            raise HTTPException(413, f"The body must not be larger than {max_bytes} bytes.")
        return message

    return receive_limited


def allowed_host_names(config: Config) -> frozenset[str]:
    """Returns the host names that the Host header of a request may contain, in lower case, without ports and
    brackets.
    """
    hosts = [*config.allowed_hosts, urlsplit(config.base_url).netloc]
    names = {name for host in hosts if (name := host_name(host))}
    return frozenset(LOCAL_NAMES | names | ({config.host.lower()} - _WILDCARD_HOSTS))


def host_name(host: str) -> str | None:
    """Returns the host name in a Host header, in lower case, without port and brackets. Returns None if the
    header is not valid.
    """
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def is_safe(scope: Scope) -> bool:
    """Returns whether the request cannot change anything on the server: its method is GET, HEAD or OPTIONS,
    and it is not a WebSocket.
    """
    return scope["type"] != "websocket" and (scope["type"] != "http" or scope["method"] in _SAFE_METHODS)


def _add_headers(message: Message, page_headers: Mapping[str, str], request_id: str, path: str) -> None:
    headers = MutableHeaders(scope=message)
    headers["X-Request-ID"] = request_id
    for name, value in page_headers.items():
        headers.setdefault(name, value)
    # Built files carry a hash of their content in their name.
    is_asset = path.startswith("/assets/") and message["status"] in {200, 206, 304}
    headers.setdefault("Cache-Control", "public, max-age=31536000, immutable" if is_asset else "no-store")


async def _refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    status: int,
    code: str,
    detail: str,
    fix: str | None = None,
) -> None:
    logger.info("request refused", extra={"code": code, "status": status})
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4001, "reason": code})  # before accept: HTTP 403
        return
    response = problem(Request(scope), status=status, code=code, detail=detail, fix=fix)
    await response(scope, receive, send)
