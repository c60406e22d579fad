"""The HTTP server of the scripted model."""

import asyncio
import json
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any, Self

from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import chat, converse, gemini, messages, responses
from tests.support.scripted_llm.turns import Request, Turn, fail

_DIALECTS = {
    "/chat/completions": chat,
    "/responses": responses,
    "/messages": messages,
    ":rawPredict": messages,
    ":streamRawPredict": messages,
    "/converse": converse,
    "/converse-stream": converse,
    ":generateContent": gemini,
    ":streamGenerateContent": gemini,
}
_FRAMES = "application/vnd.amazon.eventstream"


@dataclass
class ScriptedLLM:
    """The server of the scripted model. `script` adds turns. `requests`: the requests received so far.

    `cancelled`: how many clients closed the connection before the answer was complete.
    """

    api_key: str = "sk-scripted-canary"
    host: str = "127.0.0.1"
    requests: list[Request] = field(default_factory=list)
    cancelled: int = 0
    fallback: Callable[[Request], Turn] | Turn | None = None
    """Answers requests when no turns are left. None: the answer is HTTP 400, which clients do not retry."""
    aside: Turn | None = None
    """Answers requests without tools, such as for a title. They use up no turn and are not recorded. None: a
    normal turn.
    """
    _turns: deque[Turn | Callable[[Request], Turn]] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closing: threading.Event = field(default_factory=threading.Event)

    def script(self, *turns: Turn | Callable[[Request], Turn]) -> None:
        with self._changed:
            self._turns.extend(turns)

    @property
    def base_url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    @property
    def turns_left(self) -> int:
        return len(self._turns)

    async def wait_for_requests(self, count: int) -> None:
        """Returns when `count` requests have arrived since the start."""
        await self.wait_until(lambda: len(self.requests) >= count)

    async def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Returns when `is_true` returns True. It is called after every request, reply and closed
        connection.
        """
        await asyncio.to_thread(self._wait_until, is_true)

    def wait_for_request(self, count: int) -> None:
        """Does the same as `wait_for_requests`, for tests without an event loop."""
        self._wait_until(lambda: len(self.requests) >= count)

    def _wait_until(self, is_true: Callable[[], bool]) -> None:
        with self._changed:
            if not self._changed.wait_for(is_true, PATIENCE_SECONDS):
                raise TimeoutError(f"the model was asked {len(self.requests)} times")

    def __enter__(self) -> Self:
        self._server = _Server((self.host, 0), _Handler)
        self._server.llm = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="scripted-llm")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, request: Request) -> Turn:
        """Records the request and returns the turn that answers it."""
        if self.aside is not None and not request.tool_names:
            return self.aside
        with self._changed:
            self.requests.append(request)
            turn = self._turns.popleft() if self._turns else self.fallback
            self._changed.notify_all()
        if turn is None:
            turn = fail(400, error="the script has no more turns")
        return turn if isinstance(turn, Turn) else turn(request)

    def note_cancelled(self) -> None:
        with self._changed:
            self.cancelled += 1
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    llm: ScriptedLLM

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores the error: tests may close a connection early."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        request = self._read()
        if not request.route.endswith((*_DIALECTS, "/messages/count_tokens")):
            self._send_json(404, {"error": {"message": f"no route {request.path}"}})
            return
        turn = self.server.llm.take(request)
        if not self._wait_for_release(turn):
            return
        if turn.status != 200:
            self._send_json(turn.status, {"error": {"message": turn.error, "type": "scripted"}}, turn.headers)
        elif request.is_streamed:
            self._stream(turn, request)
        elif turn.body is not None:
            self._send_body(200, turn.body)
        else:
            self._send_json(200, _dialect_of(request).whole(turn, request))

    def _read(self) -> Request:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.path, headers, json.loads(body))

    def _wait_for_release(self, turn: Turn) -> bool:
        """Waits until a held turn is released. Returns False if the client is gone or the server closes
        before.
        """
        while turn.gate is not None and not turn.gate.wait(0.01):
            if self._caller_is_gone() or self.server.llm._closing.is_set():
                self._drop()
                return False
        return True

    def _caller_is_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.rfile.peek(1)  # type: ignore[attr-defined]

    def _drop(self) -> None:
        self.close_connection = True
        self.server.llm.note_cancelled()

    def _send_json(self, status: int, body: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._send_body(status, json.dumps(body).encode(), headers)

    def _send_body(self, status: int, encoded: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Type", "application/json"), ("Content-Length", len(encoded))):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(encoded)

    def _stream(self, turn: Turn, request: Request) -> None:
        self.send_response(200)
        is_framed = _dialect_of(request) is converse
        self.send_header("Content-Type", _FRAMES if is_framed else "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._send_pieces(turn, request)
        except OSError:
            self._drop()

    def _send_pieces(self, turn: Turn, request: Request) -> None:
        for index, piece in enumerate(_encoded_pieces(turn, request)):
            if turn.cut_after_pieces is not None and index >= turn.cut_after_pieces:
                self.close_connection = True
                return
            if turn.piece_delay_seconds:
                time.sleep(turn.piece_delay_seconds)
            if _dialect_of(request) is converse:
                self._send_chunk(converse.framed(json.loads(piece)))
                continue
            named = b"event: " + _kind(piece) + b"\n" if _dialect_of(request) is messages else b""
            self._send_chunk(named + b"data: " + piece + b"\n\n")
        if request.route.endswith("/chat/completions"):
            self._send_chunk(b"data: [DONE]\n\n")
        self._send_chunk(b"")

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is http.server's)
        """Logs nothing, because `requests` records the requests."""


def _encoded_pieces(turn: Turn, request: Request) -> Iterator[bytes]:
    if turn.body is not None:
        yield turn.body
        return
    for piece in _dialect_of(request).pieces(turn, request):
        yield json.dumps(piece).encode()


def _kind(piece: bytes) -> bytes:
    """Returns the type of one event of a stream in Anthropic's format, for example `message_start`. Returns
    `message` if the event has no type. Clients need the type to distinguish the events.
    """
    try:
        return str(json.loads(piece)["type"]).encode()
    except (ValueError, KeyError, TypeError):
        return b"message"


def _dialect_of(request: Request) -> ModuleType:
    return next(dialect for route, dialect in _DIALECTS.items() if request.route.endswith(route))
