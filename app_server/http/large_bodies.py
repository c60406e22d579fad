"""A middleware that refuses large request bodies unless the sender is a known user. It reads large bodies of
the same user one after the other.

The web framework decodes a body before it finds out which user has sent it, and decoding blocks the event
loop. Therefore this middleware identifies the sender before it reads the body. It is a plain ASGI class.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from weakref import WeakValueDictionary

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app_server.core.errors import problem

MAX_ANONYMOUS_BYTES = 64 * 1024
LARGE_BYTES = 1024**2
REST_SECONDS_PER_BYTE = 0.05 / 1024**2
"""The pause after a large body of a user, in seconds per byte. The user's next large body is read after the
pause. Decoding a MiB takes about 5 ms, and the pause is ten times as long. So about nine tenths of the event
loop's time remain for other users.
"""

Identify = Callable[[HTTPConnection], Awaitable[Hashable | None]]
"""A function that returns the sender of a request, or None if the sender is not known."""

_DETAIL = f"A body of more than {MAX_ANONYMOUS_BYTES} bytes is accepted only from users."
_FIX = "Sign in, or send an API key."


class LargeBodies:
    def __init__(self, app: ASGIApp, *, identify: Identify, but: tuple[str, ...] = ()) -> None:
        """Creates the middleware. `identify`: a function that returns the sender of a request. `but`: the
        beginnings of paths that the middleware does not check. The routes of these paths identify the sender
        themselves before they decode the body.
        """
        self._app = app
        self._but = but
        self._identify = identify
        self._turns: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope) or scope["path"].startswith(self._but):
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive, send, self._identify, self._turns)
        if stated_length(scope) > MAX_ANONYMOUS_BYTES and not await body.has_known_sender():
            reply = problem(Request(scope), status=401, code="not_authenticated", detail=_DETAIL, fix=_FIX)
            await reply(scope, receive, send)
            return
        try:
            await self._app(scope, body.receive, body.send)
        finally:
            body.end_turn()


class _Body:
    """The body of a request that is being received. For each user, only one large body (over LARGE_BYTES) at
    a time is read to its end and decoded. The user's next large body then waits for a pause
    (REST_SECONDS_PER_BYTE), in which the event loop serves other users. A body counts as decoded when the
    response to its request begins.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        identify: Identify,
        turns: MutableMapping[Hashable, asyncio.Lock],
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._identify = identify
        self._turns = turns
        self._seen = 0
        self._sender: Hashable | None = None
        self._turn: asyncio.Lock | None = None

    async def has_known_sender(self) -> bool:
        if self._sender is None:
            self._sender = await self._identify(HTTPConnection(self._scope))
        return self._sender is not None

    async def receive(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MAX_ANONYMOUS_BYTES and not await self.has_known_sender():
            # While it parses a body, the framework passes on no other exception class.
            raise HTTPException(401, f"{_DETAIL} {_FIX}")
        if self._seen > LARGE_BYTES and self._turn is None:
            turn = self._turns.setdefault(self._sender, asyncio.Lock())
            await turn.acquire()
            self._turn = turn
        return message

    async def send(self, message: Message) -> None:
        self.end_turn()
        await self._send(message)

    def end_turn(self) -> None:
        if self._turn:
            asyncio.get_running_loop().call_later(self._seen * REST_SECONDS_PER_BYTE, self._turn.release)
            self._turn = None


def stated_length(scope: Scope) -> int:
    header = Headers(scope=scope).get("content-length", "")
    return int(header) if header.isdecimal() and len(header) < 20 else 0


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "content-length" in headers or "transfer-encoding" in headers
