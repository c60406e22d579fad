"""A small real HTTP server that receives the reports of an agent server. It accepts and refuses reports by
the same rules as the app server.
"""

import json
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.ports import free_port


@dataclass
class ReportReceiver:
    """The receiver. `stop` and `start` may be called repeatedly: the port and the stored reports stay.

    unacceptable: reports that contain this text are refused; None to refuse none.
    """

    port: int = field(default_factory=free_port)
    stored: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    pieces: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    gone_status: int = 404
    posts: int = 0
    repeated: int = 0
    fail_next: int = 0
    unacceptable: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1/webhooks"

    def start(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if receiver._server is None:
                    # The receiver is stopped, but this connection is still open: close it without an answer.
                    self.close_connection = True
                    return
                status, reply = receiver.take(self.path, self.headers, json.loads(body))
                encoded = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is http.server's)
                """Logs nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Ignores the error: tests may kill a client in the middle of a request."""

        self._server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            server.shutdown()
            server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def take(self, path: str, headers: Any, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        conversation = path.rsplit("/", 1)[-1]
        with self.lock:
            self.posts += 1
            self.keys.add(headers.get("X-Session-API-Key", ""))
            if conversation in self.gone:
                return self.gone_status, {"code": "not_found"}
            if self.fail_next:
                self.fail_next -= 1
                return 503, {"code": "unavailable"}
            if self.unacceptable is not None and self.unacceptable in json.dumps(body):
                return 422, {"code": "validation_failed", "detail": "not like this"}
            return self._append(self.stored[conversation], body["frames"])

    def _append(self, log: list[dict[str, Any]], frames: list[dict[str, Any]]) -> tuple[int, dict[str, Any]]:
        durable = [frame for frame in frames if frame["type"] == "durable"]
        if durable and durable[0]["seq"] > len(log) + 1:
            return 409, {"code": "seq_gap", "acknowledged_seq": len(log)}
        self.pieces += [frame for frame in frames if frame["type"] != "durable"]
        for frame in durable:
            if frame["seq"] == len(log) + 1:
                log.append(frame["event"])
            else:
                self.repeated += 1
        return 200, {"acknowledged_seq": len(log)}
