"""A fake search service with the API of Tavily."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class SearchService:
    """The service. `seen`: the Authorization header and body of each request. `status`: the status of its
    answers.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[str | None, dict[str, Any]]] = []
        self.status = 200
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.seen.append((self.headers.get("authorization"), body))
                hit = {"title": "Cranes", "url": "https://example.org", "content": "tall", "score": 0.9}
                reply = json.dumps({"query": body["query"], "results": [hit]}).encode()
                self.send_response(service.status)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()


@contextmanager
def search_service() -> Iterator[SearchService]:
    service = SearchService()
    yield service
    service.server.shutdown()
    service.server.server_close()
