"""Passes one MCP request (streamable HTTP) from a sandbox on to an MCP server, and passes the reply back.

The request to the server has the user's credentials instead of the credentials of the sandbox. The reply is
streamed back without the user's credentials.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

import httpx
from fastapi import Request, Response

from app_server.core.errors import BadGateway, TooManyRequests
from app_server.http.reply_streaming import Passing
from app_server.mcp_broker.reply_masking import masked
from app_server.mcp_servers.scopes import requested_scope

logger = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 4 * 1024**2
MAX_EXCHANGES = 64
"""The maximum number of requests to MCP servers that one sandbox can have open at a time. While a sandbox
listens to an MCP server, one request stays open.
"""

_FORWARDED = ("accept", "content-type", "last-event-id", "user-agent")
_RETURNED = ("content-type", "retry-after", "allow")
_PROTOCOL_PREFIX = "mcp-"
_CONNECT_SECONDS = 15.0
_LISTEN_SECONDS = 330.0
"""The maximum time without data in the stream of a GET request, in which a client waits for messages of the
MCP server. It is longer than the 300 seconds after which MCP clients close such a stream.
"""
_CREDENTIALS_REFUSED = frozenset((HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN))


@dataclass(frozen=True)
class UpstreamServer:
    """An MCP server and the credentials with which the app server calls it.

    `headers`: all headers that the server needs. `timeout_seconds`: a call fails if the server sends no data
    for this time.

    `renewed`: a function that returns new headers; it is called if the server refuses the current ones. None
    if the headers cannot be renewed. `want`: a function that stores an OAuth scope for the next sign-in. It
    is called with the missing scope if the server refuses a call because the user's token lacks a scope. None
    if the server has no OAuth sign-in.
    """

    name: str
    url: str
    headers: Mapping[str, str]
    timeout_seconds: float
    renewed: Callable[[], Awaitable[Mapping[str, str]]] | None = None
    want: Callable[[str], Awaitable[None]] | None = None


class Exchanges:
    """Counts the open requests of each sandbox to MCP servers, and limits their number."""

    def __init__(self) -> None:
        self.open: Counter[UUID] = Counter()

    @contextmanager
    def of(self, sandbox_id: UUID) -> Iterator["ReplySlot"]:
        """Counts one more open request of the sandbox and yields its slot (the permission for one request).
        The slot is released at the end of the `with` block. If a reply is still streamed at that time, the
        slot is released at the end of the reply.

        Raises TooManyRequests `too_many_mcp_exchanges` if the sandbox already has MAX_EXCHANGES open
        requests.
        """
        if self.open[sandbox_id] >= MAX_EXCHANGES:
            raise TooManyRequests(
                f"A sandbox can have at most {MAX_EXCHANGES} exchanges with MCP servers at a time.",
                code="too_many_mcp_exchanges",
            )
        self.open[sandbox_id] += 1
        slot = ReplySlot(lambda: self._give_back(sandbox_id))
        try:
            yield slot
        finally:
            if not slot.is_taken:
                slot.give_back()

    def _give_back(self, sandbox_id: UUID) -> None:
        self.open[sandbox_id] -= 1
        if not self.open[sandbox_id]:
            del self.open[sandbox_id]


class ReplySlot:
    """The permission of a sandbox for one open request to an MCP server. A sandbox has at most MAX_EXCHANGES
    slots at a time.

    `give_back`: a function that releases the slot. `is_taken`: true if a reply is streamed, so that the slot
    must be released when the stream ends. False if the slot must be released when the `with` block of
    `Exchanges.of` ends.
    """

    def __init__(self, give_back: Callable[[], None]) -> None:
        self.is_taken = False
        self.give_back = give_back


async def pass_through(
    http: httpx.AsyncClient, target: UpstreamServer, request: Request, slot: ReplySlot
) -> Response:
    """Sends the request of the sandbox to the MCP server `target` and returns the server's reply as a stream.
    `slot`: the permission for one open request of the sandbox; it is released at the end of the reply.

    If the server replies 401, gets new headers from `target.renewed` and sends the request once more.

    Raises BadGateway in four cases. `mcp_server_unreachable`: the server does not reply.
    `mcp_server_redirected`: the reply is a redirect. `mcp_credentials_refused`: the server refuses the user's
    credentials. `mcp_scope_needed`: the server asks for an OAuth scope that the user's token lacks. Also
    raises the errors of `target.renewed`.
    """
    headers = target.headers
    reply = await _send(http, target, headers, request)
    if reply.status_code == HTTPStatus.UNAUTHORIZED and target.renewed is not None:
        await reply.aclose()
        headers = await target.renewed()
        reply = await _send(http, target, headers, request)
    if reply.is_redirect or reply.status_code in _CREDENTIALS_REFUSED:
        await reply.aclose()
        scope = requested_scope(reply.headers.get("www-authenticate", ""))
        if reply.status_code == HTTPStatus.FORBIDDEN and scope is not None and target.want is not None:
            await target.want(scope)
            raise _scope_needed(target, scope)
        raise _refusal(target, reply)
    slot.is_taken = True
    return Passing(
        reply,
        masked(_bytes_of(reply), headers.values()),
        status=reply.status_code,
        headers=_reply_headers(reply),
        at_end=slot.give_back,
    )


async def _send(
    http: httpx.AsyncClient, target: UpstreamServer, headers: Mapping[str, str], request: Request
) -> httpx.Response:
    silence = _LISTEN_SECONDS if request.method == "GET" else target.timeout_seconds
    outgoing = http.build_request(
        request.method,
        target.url,
        content=await request.body(),
        headers=_request_headers(request.headers, headers),
        timeout=httpx.Timeout(silence, connect=_CONNECT_SECONDS),
    )
    try:
        return await http.send(outgoing, stream=True, follow_redirects=False)
    except httpx.HTTPError as error:
        raise BadGateway(
            f"The MCP server {target.name!r} did not answer ({type(error).__name__}).",
            code="mcp_server_unreachable",
            fix="Check its address in the settings, and that it runs.",
        ) from error


async def _bytes_of(reply: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in reply.aiter_bytes():
            yield piece
    except httpx.HTTPError as error:
        # For example, the server was restarted. Clients open a listening stream again, and they notice an
        # incomplete answer.
        logger.info("an MCP server broke off", extra={"cause": type(error).__name__})


def _refusal(target: UpstreamServer, reply: httpx.Response) -> BadGateway:
    if reply.is_redirect:
        return BadGateway(
            f"The MCP server {target.name!r} answered with a redirect.",
            code="mcp_server_redirected",
            fix="Set its URL in the settings to the final address.",
        )
    logger.warning("an MCP server refused", extra={"server": target.name, "status": reply.status_code})
    return BadGateway(
        f"The MCP server {target.name!r} refuses the sign-in (HTTP {reply.status_code}).",
        code="mcp_credentials_refused",
        fix="The user must correct its headers, or connect it again, in the settings.",
    )


def _scope_needed(target: UpstreamServer, scope: str) -> BadGateway:
    said = f": {scope}" if scope else ""
    return BadGateway(
        f"The MCP server {target.name!r} wants more permission for this call than its user has given{said}.",
        code="mcp_scope_needed",
        fix="The user can give it in the settings, under MCP servers (Connect). Then call again.",
    )


def _reply_headers(reply: httpx.Response) -> dict[str, str]:
    return {
        name: value
        for name, value in reply.headers.items()
        if name in _RETURNED or name.startswith(_PROTOCOL_PREFIX)
    }


def _request_headers(given: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers of the request to the MCP server. These are the headers with the user's
    credentials, and those headers of the sandbox's request that the MCP protocol needs. If both contain the
    same header, the header with the user's credentials is used.

    `given`: the headers of the sandbox's request. `stored`: the headers with the user's credentials.
    """
    forwarded = {
        name.lower(): value
        for name, value in given.items()
        if name.lower() in _FORWARDED or name.lower().startswith(_PROTOCOL_PREFIX)
    }
    # The reply is searched for credentials, so it must not be compressed.
    return {**forwarded, "accept-encoding": "identity", **{name.lower(): one for name, one in stored.items()}}
