"""An HTTPS server that answers only requests with one of its tokens. The answer contains the token that was
sent.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.outside import Authority, own_address


@dataclass
class PrivateHost:
    """The server. believed: the file with the certificate that signed the server's certificate.

    seen: the Authorization header of each request, or None.
    """

    address: str
    port: int
    believed: Path
    seen: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}/"


@contextmanager
def private_host(directory: Path, *tokens: str) -> Iterator[PrivateHost]:
    """Runs the server and yields it. Programs treat its loopback address as another machine.

    tokens: the accepted tokens.
    """
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
            """Logs nothing."""

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
