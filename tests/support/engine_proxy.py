"""The Docker engine behind a socket of its own, so that a test can have it refuse, die or keep silent.

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
"""What is answered in the engine's place; None lets the engine answer after all."""


class EngineProxy:
    """Rules are tried in their order; each names how a request begins: method and path without a version."""

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
        """As an engine that ends: its socket goes."""
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
        """The engine refuses in its own form."""
        self.answer_with(request, status, {"message": message})

    def answer_with(self, request: str, status: int, body: Any) -> None:
        self.on(request, lambda: _reply(status, body))

    def die_at(self, request: str) -> None:
        """The engine ends in the middle of this request: from then on it hangs up.

        Its socket stays, since the SDK leaves its own end open where there is none.
        """

        def die() -> bytes:
            self._is_dead = True
            return b""

        self.on(request, die)

    def decide(self, request: str) -> bytes | None:
        """What is said in the engine's place; nothing at all is said by b""."""
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
        """One request: the engine is told to close after it, so that the next one is seen too."""
        head = read_head(self.request)
        if not head:
            return
        if self.server.proxy.silent.is_set():
            self.request.recv(1)  # until the client has had enough
            return
        decided = self.server.proxy.decide(head.decode(errors="replace"))
        if decided is not None:
            self.request.sendall(decided)
            return
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(REAL)
            engine.sendall(closing(head))
            carry(engine, self.request)


def _reply(status: int, body: Any) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + content
