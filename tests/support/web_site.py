"""A small web site on loopback whose pages a test chooses."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = str | Callable[[BaseHTTPRequestHandler], None]
"""The HTML of a page, or a function that answers the request."""


class WebSite:
    """The web site. `pages`: the answers by path; the query of a URL is ignored ("/x?y" is answered as "/x").

    `other`: the URL of the same site under another origin.
    """

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.other = f"http://localhost:{port}"
        self.pages: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.ending = threading.Event()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.split("?")[0]
        self.asked.append(request.path)
        page = self.pages.get(path)
        if callable(page):
            page(request)
        else:
            send(request, page or "<title>Not here</title>", status=200 if page else 404)


def send(request: BaseHTTPRequestHandler, body: str, *, status: int = 200, **headers: str) -> None:
    data = body.encode()
    request.send_response(status)
    given = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data))}
    for name, value in {**given, **{n.replace("_", "-"): v for n, v in headers.items()}}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(data)


@contextmanager
def web_site() -> Iterator[WebSite]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site = WebSite(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.ending.set()
        server.shutdown()
        server.server_close()
