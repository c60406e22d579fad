"""A listener for HTTP and DNS on one port that keeps all received data. Tests use it as the target of data
theft.

with Tap() as tap:
    tap.port
    tap.heard            # all received data, unchanged
"""

import gzip
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tests.support.patience import PATIENCE_SECONDS

END = b"end"


class Tap:
    """The listener. It answers each HTTP request with status 401, so that the client sends a name and a
    password.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._pieces: list[bytes] = []
        self._server = _Server((address, 0), _Handler)
        self._server.pieces = self._pieces
        self.port = self._server.server_port
        self._names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._names.bind((address, self.port))
        self._threads = [
            threading.Thread(target=self._server.serve_forever, name="tap"),
            threading.Thread(target=self._hear_names, name="tap for names"),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(END, ("127.0.0.1", self.port))
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
        self._names.close()

    @property
    def heard(self) -> bytes:
        return b"\n".join(self._pieces)

    def _hear_names(self) -> None:
        while (question := self._names.recv(65536)) != END:
            self._pieces.append(question)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    pieces: list[bytes]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._take()

    def do_POST(self) -> None:
        self._take()

    def do_PUT(self) -> None:
        self._take()

    def do_CONNECT(self) -> None:
        self._take()

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/gzip":
            body = gzip.decompress(body)
        self.server.pieces.append(f"{self.path}\n{self.headers}".encode() + body)
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="tap"')
        self.send_header("Content-Length", "0")
        self.end_headers()
