"""An https host that answers only those who bring one of its tokens, and repeats to them what they sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.outside import Authority, own_address


@dataclass
class PrivateHost:
    """believed: the file of who has signed its certificate. seen: what opened each request."""

    address: str
    port: int
    believed: Path
    seen: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}/"


@contextmanager
def private_host(directory: Path, *tokens: str) -> Iterator[PrivateHost]:
    """On an address of loopback that programs do not take for this machine."""
    address = own_address()
    authority = Authority(directory)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = self.headers["Authorization"]
            host.seen.append(sent)
            is_known = sent in {f"Bearer {token}" for token in tokens}
            body = f"welcome, {sent}" if is_known else "who are you?"
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-You-Sent", sent or "nothing")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_arguments: object) -> None:
            """Tests have no use for it."""

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    server.socket = authority.context(address).wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    host = PrivateHost(address, server.server_port, authority.file)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="private host")
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
