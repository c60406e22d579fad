"""The common base of the fake git hosts: an HTTP API with state, and real git repositories.

A fake host answers from `pulls` and `issues`, which a test may read and change. Each request and each answer
is checked against the host's own OpenAPI document. `violations` lists the errors.
"""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import httpx

from tests.support.git_host import GitHost, git
from tests.support.host_contract import FormFile, HostContract
from tests.support.patience import PATIENCE_SECONDS

LOGIN = "ada"
"""The user of the fake host that its tokens belong to."""

LOG = b"FAILED test_harbour.py::test_depth - assert 3 == 4\n"
"""The log of each check (CI job)."""


@dataclass
class OpenThread:
    """A review thread of a pull request."""

    id: str
    path: str
    line: int
    comments: list[tuple[str, str]]
    is_resolved: bool = False


@dataclass
class OpenPull:
    """A pull request of a fake host. `commit`: the last commit of its branch, kept when the branch is
    deleted.
    """

    number: int
    body: dict[str, Any]
    repository: str = ""
    threads: list[OpenThread] = field(default_factory=list)
    reviews: list[tuple[str, str, str]] = field(default_factory=list)
    checks: dict[str, str] = field(default_factory=dict)
    """The result of each check by its name: success, failure, or an empty text while the check runs."""
    labels: list[str] = field(default_factory=list)
    reviewers: list[str] = field(default_factory=list)
    state: str = "open"
    is_merged: bool = False
    commit: str = "0" * 40


@dataclass
class OpenIssue:
    number: int
    title: str
    body: str
    author: str = "grace"
    state: str = "open"


@dataclass
class Items:
    """The issues of a fake git host, and the comments on its issues and pull requests. `writers`: the users
    who may push. `edits`: how many times any comment was edited.

    `comments`: the key is the id of the comment. The value consists of the number of the issue or pull
    request, the author, and the text.
    """

    open: dict[int, OpenIssue] = field(default_factory=dict)
    writers: set[str] = field(default_factory=set)
    comments: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    edits: int = 0

    def say(self, number: int, author: str, text: str) -> int:
        comment_id = len(self.comments) + 1000
        self.comments[comment_id] = (number, author, text)
        return comment_id

    def edit(self, comment_id: int, text: str) -> None:
        at, author, _ = self.comments[comment_id]
        self.comments[comment_id], self.edits = (at, author, text), self.edits + 1

    def texts(self, number: int, author: str) -> list[str]:
        return [text for at, who, text in self.comments.values() if (at, who) == (number, author)]


class StandingHost(ABC):
    """A fake git host. Subclasses set `provider`, `scheme` and `base`.

    `provider`: the kind of host. `scheme`: the scheme of the Authorization header. `base`: the prefix of the
    API's paths.
    """

    provider: ClassVar[str]
    scheme: ClassVar[str] = "Bearer"
    base: ClassVar[str] = ""

    def __init__(self, directory: Path) -> None:
        self.git = GitHost(directory)
        self.pulls: list[OpenPull] = []
        self.violations: list[str] = []
        self.revoked = False
        self.uploads: list[FormFile] = []
        self.lock = threading.RLock()
        self.contract = self._contract()
        self.issues = Items()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.answer = self.answer
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name=self.provider)

    def __enter__(self) -> Self:
        self.git.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_SECONDS)
        self.git.__exit__(kind, error, trace)

    @abstractmethod
    def _contract(self) -> HostContract:
        """Returns the contract that checks all requests and answers against the host's OpenAPI document."""

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{self.base}"

    @property
    def credential(self) -> dict[str, str]:
        """The request body that saves a user's token for this host. The token must be in `git.tokens`."""
        token = next(iter(self.git.tokens))
        return {"host": self.git.origin, "token": token, "provider": self.provider, "api_url": self.api_url}

    def merge(self, number: int) -> None:
        """Merges a pull request, as the host's web page does: moves the target branch and deletes the source
        branch.
        """
        pull = self.pulls[number - 1]
        commit, path = self.commit_of(pull), self.git.bare(pull.repository)
        git(path, "update-ref", f"refs/heads/{self.target_of(pull)}", commit)
        git(path, "update-ref", "-d", f"refs/heads/{self.branch_of(pull)}")
        pull.state, pull.is_merged = "closed", True

    def branch_of(self, pull: OpenPull) -> str:
        return str(pull.body["head"])

    def target_of(self, pull: OpenPull) -> str:
        return str(pull.body["base"])

    def commit_of(self, pull: OpenPull) -> str:
        # A pull request that a test has made itself names no repository.
        heads = self.git.branches(pull.repository or self.names()[0])
        pull.commit = heads.get(f"refs/heads/{self.branch_of(pull)}", pull.commit)
        return pull.commit

    def heads(self, name: str) -> dict[str, str]:
        """Returns the newest commit of each branch of the repository."""
        return {
            ref.removeprefix("refs/heads/"): commit
            for ref, commit in self.git.branches(name).items()
            if ref.startswith("refs/heads/")
        }

    def names(self, words: str = "") -> list[str]:
        """Returns the names of the repositories that contain `words`."""
        found = (
            str(path.relative_to(self.git.directory)).removesuffix(".git")
            for path in self.git.directory.glob("*/*.git")
        )
        return sorted(name for name in found if words in name)

    def of(self, name: str) -> list[OpenPull]:
        """Returns the pull requests of this repository."""
        return [one for one in self.pulls if one.repository in {"", name}]

    def pull(self, number: object) -> OpenPull | None:
        at = int(str(number or 0))
        return self.pulls[at - 1] if 0 < at <= len(self.pulls) else None

    def answer(self, method: str, path: str, headers: dict[str, str], content: bytes) -> tuple[int, bytes]:
        url = f"http://127.0.0.1:{self._server.server_port}{path}"
        request = httpx.Request(method, url, headers=headers, content=content)
        with self.lock:
            keys = {f"{self.scheme} {token}" for token in self.git.tokens}
            if self.revoked or headers.get("Authorization", "") not in keys:
                return 401, json.dumps({"message": "Bad credentials"}).encode()
            if (beside := self._beside(path, content)) is not None:
                return 200, beside
            try:
                reply = self.contract.handle_request(request)
            except AssertionError as error:
                self.violations.append(f"{method} {path}: {error}")
                return 500, json.dumps({"message": str(error)}).encode()
        return reply.status_code, reply.content

    def _beside(self, path: str, content: bytes) -> bytes | None:
        """Returns the answer to a request that the OpenAPI document lacks, or None for all other requests."""
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answer: Callable[[str, str, dict[str, str], bytes], tuple[int, bytes]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body = self.server.answer(self.command, self.path, dict(self.headers), content)
        self.send_response(status)
        is_json = body[:1] in {b"{", b"["}
        self.send_header("Content-Type", "application/json" if is_json else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
