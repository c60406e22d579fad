"""A fake GitHub on loopback: its API with pull requests, reviews and checks, and real git repositories.

    with GitHubHost(tmp_path) as host:
        host.git.make("team/harbour")
        host.git.tokens["t0ken"] = "write"
        host.api_url, host.git.origin

The API is stateful: a pull request that was opened can be read, reviewed, checked and merged. Each request
and each answer is checked against the OpenAPI document of GitHub. `violations` lists the errors.
"""

import json
import re
from typing import Any

from tests.support.github_issues import issue_answer, permission
from tests.support.host_contract import Answer, HostContract, Seen
from tests.support.standing_host import LOG, LOGIN, OpenPull, OpenThread, StandingHost

# Fields that GitHub's own examples lack.
NOT_REQUIRED = ("type", "language", "requested_teams", "notification_url", "user_view_type")


class GitHubHost(StandingHost):
    provider = "github"

    def _contract(self) -> HostContract:
        return HostContract("github.openapi.json", not_required=NOT_REQUIRED, respond=self._respond)

    def _beside(self, path: str, content: bytes) -> bytes | None:
        if path == "/graphql":
            return json.dumps(self._graphql(json.loads(content))).encode()
        return permission(self.issues, path) if path.endswith("/permission") else None

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
                return 200, [self._pull(name, one, simple=True) for one in self._open(name, seen)], {}
            case "/pulls", "POST":
                return self._add_pull(name, seen.body)
        return issue_answer(self.issues, self._example, route, seen) or self._of_pull(name, route, seen)

    def _of_pull(self, name: str, route: str, seen: Seen) -> Answer:  # noqa: PLR0911
        pull = self.pull(seen.values.get("pull_number") or seen.values.get("issue_number"))
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
                runs = [self._run(*one) for one in self._checks_at(seen.values["ref"]).items()]
                return 200, {"total_count": len(runs), "check_runs": runs}, {}
            case "/commits/{ref}/status", "GET":
                return 200, {**self._example("combined-commit-status"), "statuses": []}, {}
            case "/actions/jobs/{job_id}/logs", "GET":
                return 200, LOG, {}
        return 404, {"message": "Not Found"}, {}

    def _add_pull(self, name: str, body: dict[str, Any]) -> Answer:
        if f"refs/heads/{body['head']}" not in self.git.branches(name):
            errors = [{"resource": "PullRequest", "field": "head", "code": "invalid"}]
            return 422, _invalid(errors), {}
        if any(one.state == "open" and one.body["head"] == body["head"] for one in self.of(name)):
            said = f"A pull request already exists for {name.split('/', maxsplit=1)[0]}:{body['head']}."
            return 422, _invalid([{"message": said, "code": "custom"}]), {}
        pull = OpenPull(len(self.pulls) + 1, dict(body), name)
        self.pulls.append(pull)
        return 201, self._pull(name, pull), {}

    def _open(self, name: str, seen: Seen) -> list[OpenPull]:
        head = seen.query.get("head", "").partition(":")[2]
        wanted = seen.query.get("state", "open")
        return [one for one in self.of(name) if one.state == wanted and head in {"", one.body["head"]}]

    def _pull(self, name: str, pull: OpenPull, *, simple: bool = False) -> dict[str, Any]:
        body = pull.body
        shown = self._example("pull-request-simple-items")[0] if simple else self._example("pull-request")
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
        shown["head"] |= {"ref": body["head"], "sha": self.commit_of(pull)}
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
        found = [self._repository(name, "repository-items-default-response") for name in self.names(words)]
        if seen.path == "/user/repos":
            return 200, found, {}
        items = [{**one, "score": 1.0} for one in found]
        return 200, {"total_count": len(items), "incomplete_results": False, "items": items}, {}

    def _branches(self, name: str, seen: Seen, *, is_refs: bool) -> Answer:
        found = self.heads(name)
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

    def _checks_at(self, commit: str) -> dict[str, str]:
        return next((one.checks for one in self.pulls if self.commit_of(one) == commit), {})

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
