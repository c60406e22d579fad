"""A git host on loopback: `git http-backend` behind a small HTTP server with Basic auth.

with GitHost(directory) as host:
    host.make("team/harbour")                  # one commit on main
    host.tokens["t0ken"] = "write"             # or "read"; without any token, everyone may read
    host.url("team/harbour")                   # http://127.0.0.1:…/team/harbour.git
    host.requests                              # the requests so far: method, path, headers
    host.large_files[oid] = b"..."             # the content of Git LFS, of all repositories
"""

import hashlib
import json
import os
import ssl
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.support.patience import PATIENCE_SECONDS

BACKEND = f"{subprocess.check_output(['git', '--exec-path'], text=True).strip()}/git-http-backend"
PIECE_BYTES = 65536
STORE_KEY = "canary-store-key-77"
"""The key of the store of large files (Git LFS). The host writes it into the headers of its answers."""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: HTTPMessage


class GitHost:
    """A git host on loopback. tokens: the access that each token gives, "read" or "write". redirects: the URL
    to which requests are redirected, for each beginning of a path.

    cut_after: the number of bytes of an answer after which the connection is cut; None for no cut. store: the
    origin of the server that stores the large files, as reported to clients; None for this host itself.
    """

    def __init__(
        self, directory: Path, *, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.directory = directory
        self.tokens: dict[str, str] = {}
        self.redirects: dict[str, str] = {}
        self.statuses: dict[str, int] = {}
        self.requests: list[Asked] = []
        self.cut_after: int | None = None
        self.large_files: dict[str, bytes] = {}
        self.verified: list[str] = []
        self.store: str | None = None
        self.finished = threading.Semaphore(0)
        self._scheme = "https" if tls else "http"
        self._server = _Server((address, port), _Handler)
        self._server.host = self
        if tls:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="git host")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def origin(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def url(self, name: str) -> str:
        return f"{self.origin}/{name}.git"

    def bare(self, name: str) -> Path:
        return self.directory / f"{name}.git"

    def make(self, name: str, **more: bytes) -> Path:
        """Makes a repository with one commit on main. Returns the path of the repository.

        more: the content of further Markdown files beside README.md, by name without ".md".
        """
        path = self.bare(name)
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", "main")
        for key in ("http.receivepack", "uploadpack.allowFilter", "receive.advertisePushOptions"):
            git(path, "config", key, "true")
        files = {"README": b"harbour", **more}
        lines = [f"100644 blob {self.blob(path, content)}\t{file}.md\n" for file, content in files.items()]
        tree = git(path, "mktree", stdin="".join(lines))
        git(path, "update-ref", "refs/heads/main", git(path, "commit-tree", "-m", "Begin", tree))
        return path

    def blob(self, path: Path, content: bytes) -> str:
        done = subprocess.run(
            ["git", "hash-object", "-w", "--stdin"], cwd=path, input=content, check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def branches(self, name: str) -> dict[str, str]:
        """Returns the commits of the branches and tags of a repository, by full ref name."""
        lines = git(self.bare(name), "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ") for line in lines)

    def may(self, authorization: str | None, *, write: bool) -> int:
        """Returns 200 if the Authorization header allows the access, otherwise 401 or 403.

        write: whether the request wants to write.
        """
        if not self.tokens and not write:
            return 200
        if authorization is None:
            return 401
        token = b64decode(authorization.removeprefix("Basic ")).decode().partition(":")[2]
        right = self.tokens.get(token)
        if right is None:
            return 401
        return 403 if write and right != "write" else 200


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    host: GitHost

    def shutdown_request(self, request: Any) -> None:
        if isinstance(request, ssl.SSLSocket):
            with suppress(OSError):  # a client that has closed the connection needs no closing message
                request.unwrap()
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores the error: tests may end clients in the middle of a request."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _serve(self) -> None:
        host = self.server.host
        host.requests.append(Asked(self.command, self.path, self.headers))
        self.close_connection = True
        try:
            for beginning, place in host.redirects.items():
                if self.path.startswith(beginning):
                    self._refuse(302, Location=place + self.path.removeprefix(beginning))
                    return
            if self.path.startswith("/large/"):
                self._store()
                return
            status = self._status()
            if status != 200:
                challenge = {"WWW-Authenticate": 'Basic realm="git"'} if status == 401 else {}
                self._refuse(status, **challenge)
                return
            if self.path.endswith("/info/lfs/objects/batch"):
                self._batch()
                return
            self._run()
        finally:
            host.finished.release()

    def _batch(self) -> None:
        """Answers a batch request of Git LFS with the URLs of the large files. Each URL comes with a header
        that contains the access key of the file store.
        """
        host, asked = self.server.host, json.loads(b"".join(self._body()))
        found = []
        for one in asked["objects"]:
            place = {
                "href": f"{host.store or host.origin}/large/{one['oid']}",
                "header": {"X-Store-Key": STORE_KEY},
            }
            if asked["operation"] == "upload":
                is_there = one["oid"] in host.large_files
                found.append({**one, **({} if is_there else {"actions": {"upload": place, "verify": place}})})
            elif one["oid"] in host.large_files:
                found.append({**one, "authenticated": True, "actions": {"download": place}})
            else:
                found.append({**one, "error": {"code": 404, "message": "Object does not exist"}})
        self._say(200, json.dumps({"transfer": "basic", "objects": found}).encode())

    def _store(self) -> None:
        host, oid = self.server.host, self.path.removeprefix("/large/")
        content = b"".join(self._body())
        if self.headers["X-Store-Key"] != STORE_KEY:
            self._say(403, b"{}")
        elif self.command == "PUT" and hashlib.sha256(content).hexdigest() != oid:
            self._say(422, b'{"message": "The content is another"}')
        elif self.command == "PUT":
            host.large_files[oid] = content
            self._say(200, b"")
        elif self.command == "POST":
            host.verified.append(oid)
            self._say(200 if oid in host.large_files else 404, b"{}")
        else:
            self._say(200, host.large_files[oid])

    def _say(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.git-lfs+json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def _status(self) -> int:
        host = self.server.host
        for beginning, status in host.statuses.items():
            if self.path.startswith(beginning):
                return status
        status = host.may(self.headers["Authorization"], write="git-receive-pack" in self.path)
        exists = any(self.path.startswith(f"/{found}/") for found in _repositories(host.directory))
        return status if status != 200 or exists else 404

    def _refuse(self, status: int, **headers: str) -> None:
        for _ in self._body():
            pass  # the connection would be reset if it were closed before the whole body was read
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def _run(self) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.host.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "somebody",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        with subprocess.Popen(
            [BACKEND], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as backend:
            assert backend.stdin
            assert backend.stdout
            try:
                self._feed(backend.stdin)
                self._answer(backend.stdout)
            finally:
                backend.kill()

    def _feed(self, stdin: IO[bytes]) -> None:
        with stdin:
            for piece in self._body():
                stdin.write(piece)

    def _body(self) -> Iterator[bytes]:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while size := int(self.rfile.readline().strip() or b"0", 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left:
            piece = self.rfile.read(min(left, PIECE_BYTES))
            if not piece:
                raise ConnectionError("the client went away")
            left -= len(piece)
            yield piece

    def _answer(self, stdout: IO[bytes]) -> None:
        headers: dict[str, str] = {}
        while line := stdout.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        sent, limit = 0, self.server.host.cut_after
        while piece := stdout.read1(PIECE_BYTES):  # type: ignore[attr-defined]
            self.wfile.write(piece)
            sent += len(piece)
            if limit is not None and sent > limit:
                return


def _repositories(directory: Path) -> list[str]:
    return [str(path.parent.relative_to(directory)) for path in directory.glob("*/*.git/HEAD")]


def git(path: Path, *arguments: str, stdin: str = "") -> str:
    """Runs a git command in `path` and returns its output."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=path, input=stdin, text=True, check=True, stdout=subprocess.PIPE, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    return done.stdout.strip()
