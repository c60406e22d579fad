"""A fake Forgejo on loopback: its API with pull requests, reviews and statuses, and real git repositories.

It is used in the same way as the fake GitHub (github_host.py). Each request and each answer is checked
against the OpenAPI document of Forgejo.
"""

from typing import Any

from tests.support.host_contract import Answer, HostContract, Seen
from tests.support.standing_host import LOGIN, OpenPull, OpenThread, StandingHost

ALSO = {
    "GET /repos/{owner}/{repo}/collaborators/{login}/permission": (),
    # The operation issueCreateIssueAttachment of Forgejo's complete document.
    "POST /repos/{owner}/{repo}/issues/{index}/assets": ("?name", "@attachment!"),
}
"""Operations that the OpenAPI document lacks."""

Json = dict[str, Any]

_STATES = {"success": "success", "failure": "failure", "": "pending"}
_TIME = "2026-11-01T10:00:00Z"


class Nullable(HostContract):
    """A `HostContract` (the check of calls against an OpenAPI document) that ignores null fields in answers.

    The OpenAPI documents do not say which fields may be null. Forgejo is written in Go, which writes null for
    an absent object or list.
    """

    def _check_answer(self, operation: Any, status: int, answer: Any) -> None:
        super()._check_answer(operation, status, _without_nulls(answer))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


class ForgejoHost(StandingHost):
    """The fake Forgejo. It shows each review thread as one review, numbered by its position in the list."""

    provider = "forgejo"
    takes_images = True
    scheme = "token"
    base = "/api/v1"

    def _contract(self) -> HostContract:
        return Nullable("forgejo-16.openapi.json", base=self.base, also=ALSO, respond=self._respond)

    def _respond(self, seen: Seen) -> Answer:  # noqa: PLR0911 (a table of routes)
        match seen.path:
            case "/user":
                return 200, _person(LOGIN), {}
            case "/user/orgs":
                return 200, [], {}
            case "/user/repos":
                return 200, [self._repository(one) for one in self.names()], {}
            case "/repos/search":
                found = [self._repository(one) for one in self.names(seen.query.get("q", ""))]
                return 200, {"ok": True, "data": found}, {}
            case "/repos/issues/search":
                return 200, self._search(seen.query["type"]), {}
        name = f"{seen.values['owner']}/{seen.values['repo']}"
        if name not in self.names():
            return 404, {"message": "The target couldn't be found."}, {}
        return self._of_repository(name, seen.path.removeprefix("/repos/{owner}/{repo}"), seen)

    def _of_repository(self, name: str, route: str, seen: Seen) -> Answer:  # noqa: C901, PLR0911, PLR0912
        match route, seen.method:
            case "", "GET":
                return 200, self._repository(name), {}
            case "/branches", "GET":
                return 200, [_branch(*one) for one in self.heads(name).items()], {}
            case "/labels", "GET":
                return 200, [{"id": 1, "name": "depth"}], {}
            case "/collaborators/{login}/permission", "GET":
                login = seen.values["login"]
                may = "write" if login in self.issues.writers else "read"
                return 200, {"permission": may, "user": _person(login)}, {}
            case "/issues/{index}", "GET" if (number := int(seen.values["index"])) in self.issues.open:
                return 200, self._issue(name, number), {}
            case "/issues/{index}/comments", "GET":
                at = int(seen.values["index"])
                found = [one for one, (where, *_) in self.issues.comments.items() if where == at]
                return 200, [self._comment(one) for one in found], {}
            case "/issues/{index}/comments", "POST":
                added = self.issues.say(int(seen.values["index"]), LOGIN, seen.body["body"])
                return 201, self._comment(added), {}
            case "/issues/{index}/assets", "POST" if self.pull(seen.values["index"]):
                if not self.takes_images:
                    return 422, {"message": "File type is not allowed"}, {}
                self.uploads.append(seen.body["attachment"])
                return 201, self._attachment(len(self.uploads)), {}
            case "/issues/comments/{id}", "PATCH":
                self.issues.edit(int(seen.values["id"]), seen.body["body"])
                return 200, self._comment(int(seen.values["id"])), {}
            case "/pulls", "GET":
                wanted = seen.query.get("state", "open")
                return 200, [self._pull(one) for one in self.of(name) if one.state == wanted], {}
            case "/pulls", "POST":
                return self._add_pull(name, seen.body)
            case "/commits/{ref}/status", "GET":
                return 200, self._statuses(seen.values["ref"]), {}
        pull = self.pull(seen.values.get("index")) if route.startswith("/pulls/") else None
        if pull is None:
            return 404, {"message": "The target couldn't be found."}, {}
        return self._of_pull(pull, route.removeprefix("/pulls/{index}"), seen)

    def _of_pull(self, pull: OpenPull, route: str, seen: Seen) -> Answer:  # noqa: PLR0911
        match route, seen.method:
            case "", "GET":
                return 200, self._pull(pull), {}
            case "", "PATCH":
                pull.body |= seen.body
                return 200, self._pull(pull), {}
            case "/requested_reviewers", "POST":
                pull.reviewers += seen.body["reviewers"]
                return 201, [], {}
            case "/reviews", "GET":
                return 200, [_review(number, one) for number, one in enumerate(pull.threads, 1)], {}
            case "/reviews", "POST":
                (said,) = seen.body["comments"]
                comments = [(LOGIN, said["body"])]
                added = OpenThread("", said["path"], said["new_position"], comments)
                pull.threads.append(added)
                return 200, _review(len(pull.threads), added), {}
            case "/reviews/{id}/comments", "GET":
                number = int(seen.values["id"])
                return 200, self._comments_of_review(number, pull.threads[number - 1]), {}
        return 404, {"message": "The target couldn't be found."}, {}

    def _add_pull(self, name: str, body: Json) -> Answer:
        if body["head"] not in self.heads(name):
            return 404, {"message": "The target couldn't be found."}, {}
        if any(one.state == "open" and one.body["head"] == body["head"] for one in self.of(name)):
            return 409, {"message": "pull request already exists for these targets"}, {}
        pull = OpenPull(len(self.pulls) + 1, dict(body), name)
        pull.labels += ["depth"] if body.get("labels") else []
        self.pulls.append(pull)
        return 201, self._pull(pull), {}

    def _pull(self, pull: OpenPull) -> Json:
        title, repository = str(pull.body["title"]), self._repository(pull.repository)
        head, base, commit = self.branch_of(pull), self.target_of(pull), self.commit_of(pull)
        return {
            "id": 900 + pull.number,
            "number": pull.number,
            "title": title,
            "body": pull.body.get("body", ""),
            "html_url": f"{self.git.origin}/{pull.repository}/pulls/{pull.number}",
            "state": pull.state,
            "draft": title.startswith("WIP: "),
            "merged": pull.is_merged,
            "mergeable": True,
            "head": {"label": head, "ref": head, "sha": commit, "repo": repository},
            "base": {"label": base, "ref": base, "sha": commit, "repo": repository},
            "user": _person(LOGIN),
            "labels": [{"id": 1, "name": one} for one in pull.labels],
            "requested_reviewers": [_person(one) for one in pull.reviewers] or None,
            "updated_at": _TIME,
        }

    def _repository(self, name: str) -> Json:
        return {
            "id": 42,
            "full_name": name,
            "clone_url": self.git.url(name),
            "html_url": f"{self.git.origin}/{name}",
            "private": True,
            "default_branch": "main",
            "permissions": {"admin": False, "push": True, "pull": True},
            "stars_count": 0,
            "updated_at": _TIME,
            "parent": None,
        }

    def _search(self, kind: str) -> list[Json]:
        name = self.names()[0]
        if kind == "issues":
            return [self._issue(name, number) for number in self.issues.open]
        return [
            {"number": one.number, "title": one.body["title"], "state": "open", "repository": _named(name)}
            for one in self.pulls
            if one.state == "open"
        ]

    def _issue(self, name: str, number: int) -> Json:
        issue = self.issues.open[number]
        return {
            "number": number,
            "title": issue.title,
            "body": issue.body,
            "html_url": f"{self.git.origin}/{name}/issues/{number}",
            "state": issue.state,
            "user": _person(issue.author),
            "labels": [],
            "assignees": None,
            "repository": _named(name),
        }

    def _attachment(self, number: int) -> Json:
        file = self.uploads[number - 1]
        place = f"{self.git.origin}/attachments/{number}"
        return {"id": number, "name": file.name, "size": len(file.content), "browser_download_url": place}

    def _comment(self, comment_id: int) -> Json:
        _, author, text = self.issues.comments[comment_id]
        return {"id": comment_id, "body": text, "user": _person(author), "created_at": _TIME, "html_url": ""}

    def _statuses(self, commit: str) -> Json:
        checks = next((one.checks for one in self.pulls if self.commit_of(one) == commit), {})
        rows = [
            {"id": number, "context": name, "status": _STATES[state], "target_url": ""}
            for number, (name, state) in enumerate(checks.items(), 1)
        ]
        return {"state": "pending", "sha": commit, "statuses": rows or None, "total_count": len(rows)}

    def _comments_of_review(self, review: int, thread: OpenThread) -> list[Json]:
        return [
            {
                "id": review * 100 + number,
                "body": text,
                "user": _person(author),
                "path": thread.path,
                "position": thread.line,
                "resolver": _person("grace") if thread.is_resolved else None,
                "created_at": _TIME,
                "html_url": "",
            }
            for number, (author, text) in enumerate(thread.comments, 1)
        ]


def _named(name: str) -> Json:
    owner, _, last = name.partition("/")
    return {"id": 42, "full_name": name, "name": last, "owner": owner}


def _person(login: str) -> Json:
    return {"id": sum(login.encode()), "login": login, "full_name": "", "email": "", "avatar_url": ""}


def _branch(name: str, commit: str) -> Json:
    return {"name": name, "commit": {"id": commit, "timestamp": _TIME}, "protected": name == "main"}


def _review(number: int, thread: OpenThread) -> Json:
    author = thread.comments[0][0] if thread.comments else "grace"
    return {
        "id": number,
        "state": "COMMENT",
        "user": _person(author),
        "body": "",
        "comments_count": len(thread.comments),
    }
