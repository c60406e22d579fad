"""A stand-in for GitHub on loopback: its API with pull requests, reviews and checks, beside real git.

    with GitHubHost(tmp_path) as host:
        host.git.make("team/harbour")
        host.git.tokens["t0ken"] = "write"
        host.api_url, host.git.origin

The API is stateful: a pull request that is opened can be read, reviewed, checked and merged. Each request and
each answer is checked against GitHub's own OpenAPI document; what breaks it is in `violations`.
"""

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.git_host import GitHost
from tests.support.github_issues import Issues
from tests.support.host_contract import Answer, HostContract, Seen
from tests.support.patience import PATIENCE_SECONDS

LOGIN = "ada"
# Fields that GitHub's own examples lack.
NOT_REQUIRED = ("type", "language", "requested_teams", "notification_url", "user_view_type")


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
    """A pull request of the stand-in."""

    number: int
    body: dict[str, Any]
    threads: list[OpenThread] = field(default_factory=list)
    reviews: list[tuple[str, str, str]] = field(default_factory=list)
    checks: dict[str, str] = field(default_factory=dict)
    """By name: success, failure or an empty text while it runs."""
    labels: list[str] = field(default_factory=list)
    reviewers: list[str] = field(default_factory=list)
    state: str = "open"
    is_merged: bool = False


class GitHubHost:
    def __init__(self, directory: Path) -> None:
        self.git = GitHost(directory)
        self.pulls: list[OpenPull] = []
        self.violations: list[str] = []
        self.revoked = False
        self.lock = threading.RLock()
        self.contract = HostContract("github.openapi.json", not_required=NOT_REQUIRED, respond=self._respond)
        self.issues = Issues(self._example, LOGIN)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.host = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="github")

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

    @property
    def api_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def credential(self) -> dict[str, str]:
        """What is saved as the user's token for this host. Its git must know the token, too."""
        token = next(iter(self.git.tokens))
        return {"host": self.git.origin, "token": token, "provider": "github", "api_url": self.api_url}

    def merge(self, number: int) -> None:
        pull = self.pulls[number - 1]
        pull.state, pull.is_merged = "closed", True

    def answer(self, method: str, path: str, headers: dict[str, str], content: bytes) -> tuple[int, bytes]:
        request = httpx.Request(method, f"{self.api_url}{path}", headers=headers, content=content)
        with self.lock:
            if self.revoked or headers.get("Authorization", "") not in self._keys():
                return 401, json.dumps({"message": "Bad credentials"}).encode()
            if path == "/graphql":
                return 200, json.dumps(self._graphql(json.loads(content))).encode()
            if path.endswith("/permission"):
                return 200, self.issues.permission(path)
            try:
                reply = self.contract.handle_request(request)
            except AssertionError as error:
                self.violations.append(f"{method} {path}: {error}")
                return 500, json.dumps({"message": str(error)}).encode()
        return reply.status_code, reply.content

    def _keys(self) -> set[str]:
        return {f"Bearer {token}" for token in self.git.tokens}

    def _respond(self, seen: Seen) -> Answer:  # noqa: PLR0911 (a table of routes)
        route = seen.path.removeprefix("/repos/{owner}/{repo}")
        name = f"{seen.values.get('owner')}/{seen.values.get('repo')}"
        if seen.path == "/user":
            return (
                200,
                {**self._example("private-user-response-with-public-profile-information"), "login": LOGIN},
                {},
            )
        if seen.path in {"/user/repos", "/search/repositories"}:
            return self._repositories(seen)
        if seen.path == "/user/orgs":
            return 200, [], {}
        if not self.git.bare(name).is_dir():
            return 404, {"message": "Not Found"}, {}
        match route, seen.method:
            case "", "GET":
                return 200, self._repository(name, "full-repository-default-response"), {}
            case (("/branches" | "/git/matching-refs/{ref}"), "GET"):
                return self._branches(name, seen, is_refs="matching" in route)
            case "/pulls", "GET":
                return 200, [self._pull(name, one, simple=True) for one in self._open(seen)], {}
            case "/pulls", "POST":
                return self._add_pull(name, seen.body)
        return self.issues.respond(route, seen) or self._of_pull(name, route, seen)

    def _of_pull(self, name: str, route: str, seen: Seen) -> Answer:  # noqa: PLR0911
        number = int(seen.values.get("pull_number") or seen.values.get("issue_number") or 0)
        pull = self.pulls[number - 1] if 0 < number <= len(self.pulls) else None
        match route, seen.method:
            case "/pulls/{pull_number}", "GET" if pull:
                return 200, self._pull(name, pull), {}
            case "/pulls/{pull_number}", "PATCH" if pull:
                pull.body |= seen.body
                return 200, self._pull(name, pull), {}
            case "/pulls/{pull_number}/requested_reviewers", "POST" if pull:
                pull.reviewers += seen.body["reviewers"]
                return 201, self._pull(name, pull, simple=True), {}
            case "/issues/{issue_number}/labels", "POST" if pull:
                pull.labels += seen.body["labels"]
                return 200, [], {}
            case "/pulls/{pull_number}/reviews", "GET" if pull:
                return 200, [self._review(*one) for one in pull.reviews], {}
            case "/commits/{ref}/check-runs", "GET":
                runs = [self._run(*one) for one in self._checks_at(name, seen.values["ref"]).items()]
                return 200, {"total_count": len(runs), "check_runs": runs}, {}
            case "/commits/{ref}/status", "GET":
                return 200, {**self._example("combined-commit-status"), "statuses": []}, {}
            case "/actions/jobs/{job_id}/logs", "GET":
                return 200, b"FAILED test_harbour.py::test_depth - assert 3 == 4\n", {}
        return 404, {"message": "Not Found"}, {}

    def _add_pull(self, name: str, body: dict[str, Any]) -> Answer:
        if f"refs/heads/{body['head']}" not in self.git.branches(name):
            errors = [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
            return 422, _invalid(errors), {}
        if any(one.state == "open" and one.body["head"] == body["head"] for one in self.pulls):
            said = f"A pull request already exists for {name.split('/', maxsplit=1)[0]}:{body['head']}."
            return 422, _invalid([{"message": said, "code": "custom"}]), {}
        pull = OpenPull(len(self.pulls) + 1, dict(body))
        self.pulls.append(pull)
        return 201, self._pull(name, pull), {}

    def _open(self, seen: Seen) -> list[OpenPull]:
        head = seen.query.get("head", "").partition(":")[2]
        wanted = seen.query.get("state", "open")
        return [one for one in self.pulls if one.state == wanted and head in {"", one.body["head"]}]

    def _pull(self, name: str, pull: OpenPull, *, simple: bool = False) -> dict[str, Any]:
        body = pull.body
        shown = self._example("pull-request-simple-items")[0] if simple else self._example("pull-request")
        commit = self.git.branches(name).get(f"refs/heads/{body['head']}", "0" * 40)
        shown |= {
            "number": pull.number,
            "title": body["title"],
            "body": body.get("body", ""),
            "html_url": f"{self.git.origin}/{name}/pull/{pull.number}",
            "state": pull.state,
            "draft": body.get("draft", False),
            "merged_at": "2026-01-01T00:00:00Z" if pull.is_merged else None,
            "labels": [],
            "requested_reviewers": [],
        }
        shown["head"] |= {"ref": body["head"], "sha": commit}
        shown["head"]["repo"] |= {"full_name": name}
        shown["base"] |= {"ref": body["base"]}
        shown["user"] |= {"login": LOGIN}
        if not simple:
            shown |= {"merged": pull.is_merged, "mergeable": True, "mergeable_state": "clean"}
        return shown

    def _repository(self, name: str, example: str) -> dict[str, Any]:
        found = self._example(example)
        found = found[0] if isinstance(found, list) else found
        found |= {
            "full_name": name,
            "name": name.rpartition("/")[2],
            "private": True,
            "html_url": f"{self.git.origin}/{name}",
            "clone_url": self.git.url(name),
            "default_branch": "main",
            "archived": False,
        }
        found["permissions"] = {**(found.get("permissions") or {}), "push": True}
        return found

    def _repositories(self, seen: Seen) -> Answer:
        words = seen.query.get("q", "").split(" ")[0]
        names = sorted(
            str(path.relative_to(self.git.directory)).removesuffix(".git")
            for path in self.git.directory.glob("*/*.git")
        )
        found = [
            self._repository(name, "repository-items-default-response") for name in names if words in name
        ]
        if seen.path == "/user/repos":
            return 200, found, {}
        items = [{**one, "score": 1.0} for one in found]
        return 200, {"total_count": len(items), "incomplete_results": False, "items": items}, {}

    def _branches(self, name: str, seen: Seen, *, is_refs: bool) -> Answer:
        found = {
            ref.removeprefix("refs/heads/"): commit
            for ref, commit in self.git.branches(name).items()
            if ref.startswith("refs/heads/")
        }
        if not is_refs:
            shown = [
                {
                    "name": name,
                    "commit": {"sha": sha, "url": "https://example.org"},
                    "protected": name == "main",
                }
                for name, sha in found.items()
            ]
            return 200, shown, {}
        wanted = seen.values["ref"].removeprefix("heads/")
        ref = self._example("git-ref-items")[0]
        return (
            200,
            [
                {**ref, "ref": f"refs/heads/{name}", "object": {**ref["object"], "sha": sha}}
                for name, sha in found.items()
                if name.startswith(wanted)
            ],
            {},
        )

    def _checks_at(self, name: str, commit: str) -> dict[str, str]:
        heads = self.git.branches(name)
        return next(
            (one.checks for one in self.pulls if heads.get(f"refs/heads/{one.body['head']}") == commit), {}
        )

    def _run(self, name: str, conclusion: str) -> dict[str, Any]:
        run = self._example("check-run-paginated")["check_runs"][0]
        run |= {"id": 77, "name": name, "status": "completed" if conclusion else "in_progress"}
        run |= {"conclusion": conclusion or None}
        run["app"] |= {"slug": "github-actions"}
        return run

    def _review(self, author: str, state: str, body: str) -> dict[str, Any]:
        shown = self._example("pull-request-review-items")[0] | {"state": state, "body": body}
        shown["user"] |= {"login": author}
        return shown

    def _graphql(self, asked: dict[str, Any]) -> dict[str, Any]:
        query, values = asked["query"], asked.get("variables") or {}
        if "addPullRequestReviewThreadReply" in query:
            thread = self._thread_of(values["id"])
            thread.comments.append((LOGIN, values["body"]))
            comment = _comment(len(thread.comments), LOGIN, values["body"])
            return {"data": {"addPullRequestReviewThreadReply": {"comment": comment}}}
        if "reviewThreads(first: 100" in query:
            nodes = [_thread(one) for one in self.pulls[values["number"] - 1].threads]
            page = {"pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": nodes}
            return {"data": {"repository": {"pullRequest": {"reviewThreads": page}}}}
        if re.search(r"search\(type: ISSUE", query):
            issue = {
                "number": 4,
                "title": "The lighthouse is dark",
                "repository": {"nameWithOwner": "team/harbour"},
            }
            return {"data": {"pulls": {"nodes": []}, "issues": {"nodes": [issue]}}}
        return {"errors": [{"message": "not understood"}]}

    def _thread_of(self, thread_id: str) -> OpenThread:
        return next(one for pull in self.pulls for one in pull.threads if one.id == thread_id)

    def _example(self, name: str) -> Any:
        return self.contract.example(name)


def _invalid(errors: list[dict[str, str]]) -> dict[str, Any]:
    address = "https://docs.github.com/rest/pulls/pulls#create-a-pull-request"
    return {"message": "Validation Failed", "documentation_url": address, "errors": errors}


def _thread(one: OpenThread) -> dict[str, Any]:
    comments = [_comment(number, *said) for number, said in enumerate(one.comments, 1)]
    return {
        "id": one.id,
        "isResolved": one.is_resolved,
        "path": one.path,
        "line": one.line,
        "viewerCanResolve": True,
        "comments": {"nodes": comments},
    }


def _comment(number: int, author: str, body: str) -> dict[str, Any]:
    return {
        "databaseId": number,
        "body": body,
        "createdAt": "2026-01-01T00:00:00Z",
        "url": "https://example.org/comment",
        "author": {"login": author},
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    host: GitHubHost


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, body = self.server.host.answer(self.command, self.path, dict(self.headers), content)
        self.send_response(status)
        is_json = body[:1] in {b"{", b"["}
        self.send_header("Content-Type", "application/json" if is_json else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
