"""A proxy in front of the Docker engine, with a socket that a test chooses.

The test can make the engine refuse requests, end, or stop answering.

with EngineProxy(tmp_path / "engine.sock") as engine:       # DOCKER_HOST = engine.url
    engine.answer("POST /containers/create", 500, "no space left on device")
"""

import json
import re
import socket
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.http_wire import carry, closing, read_head

REAL = "/var/run/docker.sock"

Rule = Callable[[], bytes | None]
"""Returns the answer of the proxy to a request, or None if the engine is to answer."""


class EngineProxy:
    """A proxy in front of the Docker engine that answers some requests in place of the engine, by rules. If
    several rules match a request, the first of them is used. A request without a matching rule goes to the
    engine.

    A rule matches a request by its beginning: the method, and the path without the API version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"unix://{path}"
        self.silent = threading.Event()
        self._is_dead = False
        self._rules: list[tuple[re.Pattern[str], Rule]] = []
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._server = _Server(str(self.path), _Connection)
        self._server.proxy = self
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Closes and removes the socket, as the engine does when it ends."""
        if self._server is None:
            return
        self.path.unlink(missing_ok=True)
        self._server.shutdown()
        self._server.server_close()
        self._server = None

    def on(self, request: str, act: Rule) -> None:
        method, _, path = request.partition(" ")
        self._rules.append((re.compile(rf"{method} (/v[\d.]+)?{path}"), act))

    def answer(self, request: str, status: int, message: str) -> None:
        """Makes the proxy answer requests that begin with `request` with this status and message, in the
        engine's form.
        """
        self.answer_with(request, status, {"message": message})

    def answer_with(self, request: str, status: int, body: Any) -> None:
        self.on(request, lambda: reply(status, body))

    def die_at(self, request: str) -> None:
        """Makes the engine seem to end at this request: from then on each connection is closed without an
        answer.

        The socket file stays: without it, the Docker SDK would leave its own end of the connection open.
        """

        def die() -> bytes:
            self._is_dead = True
            return b""

        self.on(request, die)

    def decide(self, request: str) -> bytes | None:
        """Returns the answer of the proxy, or None if the engine is to answer.

        b"" means that the connection is closed without an answer.
        """
        if self._is_dead:
            return b""
        for pattern, act in self._rules:
            if pattern.match(request):
                return act()
        return None


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    proxy: EngineProxy


class _Connection(socketserver.BaseRequestHandler):
    server: _Server
    request: socket.socket

    def handle(self) -> None:
        """Handles the single request of a connection. Asks the engine to close the connection after its
        answer.

        So the client opens a new connection for its next request, and the proxy can also check that request.
        """
        head = read_head(self.request)
        if not head:
            return
        if self.server.proxy.silent.is_set():
            self.request.recv(1)  # until the client closes the connection
            return
        decided = self.server.proxy.decide(head.decode(errors="replace"))
        if decided is not None:
            self.request.sendall(decided)
            return
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(REAL)
            engine.sendall(closing(head))
            carry(engine, self.request)


def reply(status: int, body: Any) -> bytes:
    """Returns an HTTP response with this body as JSON, as the engine sends it."""
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + content
