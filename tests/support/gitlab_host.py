"""A fake GitLab on loopback: its API with merge requests, discussions and pipelines, and real git
repositories.

It is used in the same way as the fake GitHub (github_host.py). Each request and each answer is checked
against an OpenAPI document made from GitLab's own Go client.
"""

from typing import Any
from zlib import crc32

from tests.support.host_contract import Answer, HostContract, Seen
from tests.support.standing_host import LOG, LOGIN, OpenPull, OpenThread, StandingHost

ALSO = {
    "PUT /projects/{id}/issues/{number}/notes/{note_id}": ("body!",),
    "PUT /projects/{id}/merge_requests/{number}/notes/{note_id}": ("body!",),
    "PUT /projects/{id}/merge_requests/{number}/discussions/{discussion_id}": ("resolved!",),
    "GET /projects/{id}/merge_requests/{number}/reviewers": ("per_page",),
    "GET /projects/{id}/merge_requests/{number}/approvals": (),
    # https://docs.gitlab.com/api/project_markdown_uploads
    "POST /projects/{id}/uploads": ("@file!",),
}
"""Operations that the OpenAPI document lacks."""

Json = dict[str, Any]

_PEOPLE = {LOGIN: 7, "grace": 8, "mallory": 9}
_STATES = {"success": "success", "failure": "failed", "": "running"}
_TIME = "2026-11-01T10:00:00Z"


class GitLabHost(StandingHost):
    provider = "gitlab"
    base = "/api/v4"

    def _contract(self) -> HostContract:
        return HostContract(
            "gitlab-from-client-go.openapi.json", base=self.base, also=ALSO, respond=self._respond
        )

    def branch_of(self, pull: OpenPull) -> str:
        return str(pull.body["source_branch"])

    def target_of(self, pull: OpenPull) -> str:
        return str(pull.body["target_branch"])

    def _respond(self, seen: Seen) -> Answer:  # noqa: PLR0911 (a table of routes)
        match seen.path:
            case "/user":
                return 200, _person(LOGIN), {}
            case "/users":
                login = seen.query["username"]
                return 200, [_person(login)] if login in _PEOPLE else [], {}
            case "/personal_access_tokens/self":
                return 200, {"id": 1, "scopes": ["api"], "active": True}, {}
            case "/groups":
                return 200, [], {}
            case "/projects":
                return 200, [self._project(one) for one in self.names(seen.query.get("search", ""))], {}
            case "/merge_requests":
                return 200, [self._pull(one) for one in self.pulls if one.state == "open"], {}
            case "/issues":
                return 200, [self._issue(self.names()[0], number) for number in self.issues.open], {}
        name = next((one for one in self.names() if seen.values["id"] in {one, str(_id(one))}), None)
        if name is None:
            return 404, {"message": "404 Project Not Found"}, {}
        return self._of_project(name, seen.path.removeprefix("/projects/{id}"), seen)

    def _of_project(self, name: str, route: str, seen: Seen) -> Answer:  # noqa: C901, PLR0911, PLR0912
        number = int(seen.values.get("issue_iid", 0))
        match route, seen.method:
            case "", "GET":
                return 200, self._project(name), {}
            case "/repository/branches", "GET":
                return 200, self._branches(name, seen.query.get("search", "")), {}
            case "/members/all", "GET":
                asked = {login for login, number in _PEOPLE.items() if str(number) in seen.query.values()}
                may = [login for login in asked if login in self.issues.writers]
                return 200, [{**_person(one), "access_level": 30} for one in may], {}
            case "/issues/{issue_iid}", "GET" if number in self.issues.open:
                return 200, self._issue(name, number), {}
            case "/issues/{issue_iid}/notes", "GET":
                found = [one for one, (where, *_) in self.issues.comments.items() if where == number]
                return 200, [self._comment(one) for one in found], {}
            case "/issues/{issue_iid}/notes", "POST":
                added = self.issues.say(number, LOGIN, seen.body["body"])
                return 201, self._comment(added), {}
            case "/issues/{number}/notes/{note_id}", "PUT":
                self.issues.edit(int(seen.values["note_id"]), seen.body["body"])
                return 200, self._comment(int(seen.values["note_id"])), {}
            case "/merge_requests", "GET":
                return 200, [self._pull(one) for one in self._matching(name, seen.query)], {}
            case "/merge_requests", "POST":
                return self._add_pull(name, seen.body)
            case "/uploads", "POST":
                self.uploads.append(seen.body["file"])
                place = f"/uploads/66dbcd21{len(self.uploads)}/{self.uploads[-1].name}"
                return 201, {"id": 5, "alt": "shot", "url": place, "full_path": f"/-/project/1{place}"}, {}
            case "/repository/commits/{sha}/statuses", "GET":
                return 200, [], {}
            case "/pipelines/{pipeline_id}/jobs", "GET":
                pull = self.pulls[int(seen.values["pipeline_id"]) - 1]
                return 200, [_job(number, *one) for number, one in enumerate(pull.checks.items(), 1)], {}
            case "/jobs/{job_id}/trace", "GET":
                return 200, LOG, {}
        number_in_path = seen.values.get("merge_request_iid") or seen.values.get("number")
        pull_asked = self.pull(number_in_path) if route.startswith("/merge_requests/") else None
        if pull_asked is None:
            return 404, {"message": "404 Not found"}, {}
        return self._of_pull(pull_asked, route.split("/", 3)[3:], seen)

    def _of_pull(self, pull: OpenPull, rest: list[str], seen: Seen) -> Answer:  # noqa: PLR0911
        match rest, seen.method:
            case [], "GET":
                return 200, self._pull(pull), {}
            case [], "PUT":
                pull.body |= seen.body
                return 200, self._pull(pull), {}
            case ["pipelines"], "GET":
                made = {"id": pull.number, "project_id": _id(pull.repository), "sha": self.commit_of(pull)}
                return 200, [made] if pull.checks else [], {}
            case ["reviewers"], "GET":
                return 200, [{"user": _person(one), "state": "unreviewed"} for one in pull.reviewers], {}
            case ["approvals"], "GET":
                approved = [who for who, state, _ in pull.reviews if state == "APPROVED"]
                return 200, {"approved_by": [{"user": _person(one)} for one in approved]}, {}
            case ["discussions"], "GET":
                return 200, [_discussion(one) for one in pull.threads], {}
            case ["discussions/{discussion_id}/notes"], "POST":
                thread = next(one for one in pull.threads if one.id == seen.values["discussion_id"])
                thread.comments.append((LOGIN, seen.body["body"]))
                return 201, _discussion(thread)["notes"][-1], {}
        return 404, {"message": "404 Not found"}, {}

    def _add_pull(self, name: str, body: Json) -> Answer:
        if body["source_branch"] not in self.heads(name):
            return 400, {"message": {"source_branch": ["does not exist"]}}, {}
        if self._matching(name, {"state": "opened", "source_branch": body["source_branch"]}):
            return 409, {"message": ["Another open merge request already exists for this source branch"]}, {}
        pull = OpenPull(len(self.pulls) + 1, dict(body), name)
        pull.labels += [one for one in body.get("labels", "").split(",") if one]
        ids = body.get("reviewer_ids", ())
        pull.reviewers += [login for login, number in _PEOPLE.items() if number in ids]
        self.pulls.append(pull)
        return 201, self._pull(pull), {}

    def _matching(self, name: str, query: dict[str, str]) -> list[OpenPull]:
        is_open = query.get("state", "opened") == "opened"
        wanted = query.get("source_branch")
        return [
            one
            for one in self.of(name)
            if (one.state == "open") == is_open and wanted in {None, self.branch_of(one)}
        ]

    def _pull(self, pull: OpenPull) -> Json:
        title, name = str(pull.body["title"]), pull.repository
        state = "merged" if pull.is_merged else {"open": "opened"}.get(pull.state, "closed")
        failed = "failure" in pull.checks.values()
        return {
            "id": 900 + pull.number,
            "iid": pull.number,
            "project_id": _id(name),
            "source_project_id": _id(name),
            "target_project_id": _id(name),
            "title": title,
            "description": pull.body.get("description", ""),
            "state": state,
            "draft": title.startswith("Draft: "),
            "source_branch": self.branch_of(pull),
            "target_branch": self.target_of(pull),
            "sha": self.commit_of(pull),
            "author": _person(LOGIN),
            "labels": pull.labels,
            "reviewers": [_person(one) for one in pull.reviewers],
            "web_url": f"{self.git.origin}/{name}/-/merge_requests/{pull.number}",
            "detailed_merge_status": "mergeable",
            "has_conflicts": False,
            "blocking_discussions_resolved": all(one.is_resolved for one in pull.threads),
            "head_pipeline": {"id": pull.number, "status": "failed" if failed else "success"},
            "references": {"full": f"{name}!{pull.number}"},
            "updated_at": _TIME,
        }

    def _project(self, name: str) -> Json:
        return {
            "id": _id(name),
            "path_with_namespace": name,
            "http_url_to_repo": self.git.url(name),
            "web_url": f"{self.git.origin}/{name}",
            "visibility": "private",
            "default_branch": "main",
            "permissions": {"project_access": {"access_level": 40}, "group_access": None},
            "namespace": {"id": 1, "kind": "group"},
            "star_count": 0,
            "last_activity_at": _TIME,
        }

    def _branches(self, name: str, words: str) -> list[Json]:
        return [
            {"name": branch, "protected": branch == "main", "commit": {"id": commit}}
            for branch, commit in self.heads(name).items()
            if words in branch
        ]

    def _issue(self, name: str, number: int) -> Json:
        issue = self.issues.open[number]
        return {
            "id": 300 + number,
            "iid": number,
            "title": issue.title,
            "description": issue.body,
            "state": "opened" if issue.state == "open" else "closed",
            "author": _person(issue.author),
            "labels": [],
            "assignees": [],
            "web_url": f"{self.git.origin}/{name}/-/issues/{number}",
            "references": {"full": f"{name}#{number}"},
        }

    def _comment(self, comment_id: int) -> Json:
        _, author, text = self.issues.comments[comment_id]
        return {"id": comment_id, "body": text, "author": _person(author), "created_at": _TIME}


def _id(name: str) -> int:
    return crc32(name.encode())


def _person(login: str) -> Json:
    return {
        "id": _PEOPLE.get(login, 99),
        "username": login,
        "name": login.title(),
        "state": "active",
        "web_url": f"https://gitlab.example/{login}",
    }


def _job(number: int, name: str, conclusion: str) -> Json:
    return {"id": number, "name": name, "status": _STATES[conclusion], "stage": "test"}


def _discussion(thread: OpenThread) -> Json:
    position = {"new_path": thread.path, "new_line": thread.line}
    notes = [
        {
            "id": 5000 + number,
            "type": "DiffNote",
            "body": text,
            "author": _person(author),
            "created_at": _TIME,
            "resolvable": True,
            "resolved": thread.is_resolved,
            "position": position,
        }
        for number, (author, text) in enumerate(thread.comments, 1)
    ]
    return {"id": thread.id, "individual_note": False, "notes": notes}
