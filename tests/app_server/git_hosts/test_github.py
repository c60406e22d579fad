"""The client of GitHub: each call checked against GitHub's contract, and what is made of its answers."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.github.client import GitHub, github
from app_server.git_hosts.rate_limits import RateLimits
from app_server.git_hosts.schemas import (
    CheckState,
    HostTask,
    ItemKind,
    Mergeability,
    NewPullRequest,
    OwnerKind,
    PullRequestChanges,
    PullRequestState,
    ReviewVerdict,
    TaskKind,
)
from tests.support.github_host import NOT_REQUIRED
from tests.support.host_contract import HostContract

NAME = "team/harbour"
API = "https://api.github.com"
ODD_BRANCH = "fix/ä depth#1"
NEW = NewPullRequest(title="Fix the depth", body="Why", head=ODD_BRANCH, base="main")
JSON = {"content-type": "application/json; charset=utf-8"}
RAW = {"content-type": "application/vnd.github.raw+json; charset=utf-8"}
Values = dict[str, Any]


def invalid(message: str = "Validation Failed", inner: str | None = None, field: str | None = None) -> Values:
    """What GitHub answers with status 422."""
    errors: list[Values] = []
    if inner:
        errors = [{"resource": "PullRequest", "code": "custom", "message": inner}]
    if field:
        errors = [{"resource": "PullRequest", "code": "invalid", "field": field}]
    return {"message": message, "errors": errors, "documentation_url": "https://docs.github.com/rest"}


class Host(httpx.MockTransport):
    """GitHub's contract. What the document does not have is answered from `beside`, in order."""

    def __init__(self, base: str = "") -> None:
        self.contract = HostContract("github.openapi.json", base=base, not_required=NOT_REQUIRED)
        self.beside: list[tuple[str, httpx.Response]] = []
        self.asked: list[httpx.Request] = []
        super().__init__(self._either)

    def reply(self, status: int = 200, body: Any = None, headers: dict[str, str] | None = None) -> "Host":
        self.contract.reply(status, body, headers)
        return self

    def answer_beside(self, path: str, body: Any, status: int = 200) -> "Host":
        self.beside.append((path, httpx.Response(status, json=body)))
        return self

    def example(self, name: str, **changes: Any) -> Any:
        found = self.contract.example(name)
        return {**(found[0] if isinstance(found, list) else found), **changes}

    def variables(self, at: int = -1) -> Values:
        values: Values = json.loads(self.asked[at].content)["variables"]
        return values

    @property
    def client(self) -> GitHub:
        return client_of(self)

    def _either(self, request: httpx.Request) -> httpx.Response:
        if self.beside and request.url.path == self.beside[0][0]:
            self.asked.append(request)
            return self.beside.pop(0)[1]
        return self.contract.handle_request(request)


def client_of(
    host: httpx.MockTransport, origin: str = "https://github.com", api_url: str | None = None
) -> GitHub:
    http = httpx.AsyncClient(transport=host)
    return github(origin, "a-token", username=None, api_url=api_url, http=http, limits=RateLimits())


@pytest.fixture
def host() -> Host:
    return Host()


def next_link(path: str) -> dict[str, str]:
    return {"link": f'<{API}{path}>; rel="next", <{API}/first>; rel="first"'}


def pull(host: Host, **changes: Any) -> Values:
    shown: Values = host.example("pull-request", number=7, **changes)
    return shown


async def failure(call: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        await call
    return caught.value


async def test_me_says_what_the_token_may_do_and_when_it_ends(host: Host) -> None:
    shown = host.example("private-user-response-with-public-profile-information", login="ada", email=None)
    host.reply(
        200,
        shown,
        {
            "x-oauth-scopes": "repo, workflow",
            "github-authentication-token-expiration": "2026-12-01 10:00:00 UTC",
        },
    )
    me = await host.client.me()
    assert (me.login, me.email, me.scopes) == ("ada", None, ("repo", "workflow"))
    assert me.expires_at == datetime(2026, 12, 1, 10, tzinfo=UTC)
    sent = host.contract.seen[0].headers
    assert sent["authorization"] == "Bearer a-token"
    assert sent["x-github-api-version"] == "2022-11-28"
    host.reply(200, shown, {"github-authentication-token-expiration": "never"})
    assert (await host.client.me()).scopes is None


@pytest.mark.parametrize(
    ("origin", "api_url", "base"),
    [
        ("https://ghe.example", None, "/api/v3"),
        ("https://x.example", "https://x.example/gh/api/v3", "/gh/api/v3"),
    ],
)
async def test_enterprise_servers_have_their_own_addresses(
    origin: str, api_url: str | None, base: str
) -> None:
    host = Host(base)
    its = client_of(host, origin, api_url)
    host.reply(200, host.example("full-repository-default-response"))
    await its.repository(NAME)
    host.answer_beside(base.replace("/v3", "/graphql"), {"data": {"resolveReviewThread": {}}})
    await its.resolve_thread(NAME, 7, "T1")
    assert host.asked[0].url.host == origin.removeprefix("https://")


async def test_lists_of_repositories_follow_the_links(host: Host) -> None:
    shown = host.example("repository-items-default-response", full_name=NAME, private=True)
    shown["owner"]["type"] = "Organization"
    host.reply(200, [shown], next_link("/user/repos?page=2&per_page=1")).reply(200, [])
    first = await host.client.repositories(limit=1)
    found = first.items[0]
    assert (found.full_name, found.is_public, found.owner_kind) == (NAME, False, OwnerKind.ORGANIZATION)
    assert host.contract.seen[0].query["sort"] == "pushed"
    last = await host.client.repositories(page=first.next_page, limit=1)
    assert host.contract.seen[1].query == {"page": "2", "per_page": "1"}
    assert (last.items, last.next_page) == ((), None)


async def test_searches_stay_within_what_the_user_sees(host: Host) -> None:
    person = host.example("private-user-response-with-public-profile-information", login="ada")
    found = {"total_count": 1, "incomplete_results": False, "items": []}
    host.reply(200, person).reply(200, [host.example("organization-simple-items", login="team")])
    host.reply(200, found)
    await host.client.repositories("harb")
    words = host.contract.seen[2].query["q"].split()
    assert words == ["harb", "in:name", "fork:true", "user:ada", "user:team"]
    host.reply(200, found)
    await host.client.repositories("harb", organization="team")
    assert host.contract.seen[3].query["q"].endswith(" user:team")


async def test_repositories_of_organizations_and_installations(host: Host) -> None:
    host.reply(200, [host.example("minimal-repository-items", full_name=NAME)])
    assert (await host.client.repositories(organization="team")).items[0].full_name == NAME
    assert host.contract.seen[0].values == {"org": "team"}
    shown = host.contract.example("repository-paginated")
    host.reply(200, shown)
    assert (await host.client.repositories(organization="42")).items
    assert host.contract.seen[1].values == {"installation_id": "42"}
    host.reply(200, [host.example("organization-simple-items", login="team")], next_link("/user/orgs?page=2"))
    found = await host.client.organizations()
    assert (found.items[0].id, found.next_page) == ("team", f"{API}/user/orgs?page=2")


async def test_a_repository_says_what_it_is(host: Host) -> None:
    shown = host.example("full-repository-default-response", full_name=NAME, archived=True)
    shown["permissions"] = {"push": False, "pull": True, "admin": False}
    host.reply(200, shown)
    found = await host.client.repository(NAME)
    assert (found.full_name, found.can_push, found.is_archived) == (NAME, False, True)
    assert found.parent == shown["parent"]["full_name"]


async def test_branches_are_found_by_any_part_of_their_name(host: Host) -> None:
    commit = {"sha": "a" * 40, "url": f"{API}/x"}
    shown = [
        {"name": "main", "commit": commit, "protected": True},
        {"name": "old-FIX/ä", "commit": commit, "protected": False},
    ]
    host.reply(200, shown)
    page = await host.client.branches(NAME, limit=2)
    assert [(one.name, one.is_protected) for one in page.items] == [("main", True), ("old-FIX/ä", False)]
    ref = host.example("git-ref-items", ref="refs/heads/fix/ä new")
    host.reply(200, shown).reply(200, [ref])
    found = await host.client.branches(NAME, "fix/ä")
    assert [one.name for one in found.items] == ["fix/ä new", "old-FIX/ä"]
    assert host.contract.seen[2].values["ref"] == "heads/fix/ä"


async def test_branches_of_an_empty_repository_are_none(host: Host) -> None:
    host.reply(200, [])
    assert (await host.client.branches(NAME, "fix")).items == ()


async def test_files_are_read_by_their_odd_names(host: Host) -> None:
    host.reply(200, b"text", RAW)
    assert await host.client.file(NAME, ".slipway/set up#1.sh", ODD_BRANCH) == b"text"
    seen = host.contract.seen[0]
    assert (seen.values["path"], seen.query) == (".slipway/set up#1.sh", {"ref": ODD_BRANCH})
    assert seen.headers["accept"] == "application/vnd.github.raw+json"
    host.reply(200, b"[]", JSON)
    assert await host.client.file(NAME, "a-directory") is None
    host.reply(200, b"x" * (1024 * 1024 + 1), RAW)
    assert await host.client.file(NAME, "large") is None
    host.reply(404, {"message": "Not Found"})
    assert await host.client.file(NAME, "none") is None
    host.reply(200, b"", RAW)
    assert await host.client.file(NAME, "empty") == b""


@pytest.mark.parametrize(
    ("permission", "may"), [("admin", True), ("write", True), ("read", False), ("none", False)]
)
async def test_writers_may_push(host: Host, permission: str, may: bool) -> None:
    host.answer_beside(f"/repos/{NAME}/collaborators/ada[bot]/permission", {"permission": permission})
    assert await host.client.may_push(NAME, "ada[bot]") is may


async def test_users_that_github_does_not_know_may_not_push(host: Host) -> None:
    host.answer_beside(f"/repos/{NAME}/collaborators/ghost/permission", {"message": "Not Found"}, 404)
    assert await host.client.may_push(NAME, "ghost") is False


async def test_a_pull_request_is_opened_with_labels_and_reviewers(host: Host) -> None:
    host.reply(200, []).reply(201, pull(host, draft=True))
    host.reply(200, host.contract.example("label-items"))
    host.reply(422, {"message": "Reviews may only be requested from collaborators."})
    new = NEW.model_copy(update={"is_draft": True, "labels": ("bug",), "reviewers": ("ghost",)})
    opened = await host.client.create_pull_request(NAME, new)
    assert (opened.is_new, opened.pull_request.number, opened.pull_request.is_draft) == (True, 7, True)
    assert len(opened.left_out) == 1
    assert opened.left_out[0].startswith("The reviewers ghost were not added: github.com refuses this")
    asked = [one.body for one in host.contract.seen]
    assert host.contract.seen[0].query["head"] == f"team:{ODD_BRANCH}"
    sent = {"title": NEW.title, "head": ODD_BRANCH, "base": "main", "body": "Why", "draft": True}
    assert asked[1:] == [sent, {"labels": ["bug"]}, {"reviewers": ["ghost"]}]


async def test_an_open_pull_request_of_the_branch_is_returned(host: Host) -> None:
    host.reply(200, [host.example("pull-request-simple-items", number=3)])
    opened = await host.client.create_pull_request(NAME, NEW)
    assert (opened.is_new, opened.pull_request.number) == (False, 3)


async def test_a_pull_request_that_was_opened_meanwhile_is_returned(host: Host) -> None:
    said = "A pull request already exists for team:fix."
    host.reply(200, []).reply(422, invalid(inner=said))
    host.reply(200, [host.example("pull-request-simple-items", number=3)])
    opened = await host.client.create_pull_request(NAME, NEW)
    assert (opened.is_new, opened.pull_request.number) == (False, 3)


async def test_without_drafts_it_is_opened_without(host: Host) -> None:
    said = "Draft pull requests are not supported in this repository."
    host.reply(200, []).reply(422, invalid(said)).reply(201, pull(host, draft=False))
    opened = await host.client.create_pull_request(NAME, NEW.model_copy(update={"is_draft": True}))
    assert host.contract.seen[2].body["draft"] is False
    assert opened.left_out == ("This repository has no drafts: the pull request is ready for review.",)


async def test_what_github_says_about_fields_is_told(host: Host) -> None:
    host.reply(200, []).reply(422, invalid(field="head"))
    error = await failure(host.client.create_pull_request(NAME, NEW))
    assert error.detail == "github.com refuses this: Validation Failed; head invalid."


async def test_branches_of_forks_are_named_with_their_owner(host: Host) -> None:
    host.reply(200, []).reply(201, pull(host))
    await host.client.create_pull_request(NAME, NEW.model_copy(update={"head_repository": "ada/fork"}))
    assert host.contract.seen[0].query["head"] == f"ada:{ODD_BRANCH}"
    assert host.contract.seen[1].body["head"] == f"ada:{ODD_BRANCH}"


async def test_long_texts_are_cut_with_a_sentence(host: Host) -> None:
    comment = host.example("issue-comment")
    host.reply(201, comment).reply(200, comment).reply(200, []).reply(201, pull(host))
    long = "ä" * 70_000
    await host.client.add_comment(NAME, ItemKind.ISSUE, 7, long)
    await host.client.edit_comment(NAME, ItemKind.ISSUE, 7, "5", long)
    await host.client.create_pull_request(NAME, NEW.model_copy(update={"body": long}))
    bodies = [one.body["body"] for one in host.contract.seen if one.method != "GET"]
    assert [len(body) for body in bodies] == [65_536] * 3
    assert all(body.endswith("*The rest was left out: the host takes 65536 characters.*") for body in bodies)


@pytest.mark.parametrize(
    ("shown", "means"),
    [
        ({"mergeable": True, "mergeable_state": "clean"}, Mergeability.CLEAN),
        ({"mergeable": True, "mergeable_state": "unstable"}, Mergeability.CLEAN),
        ({"mergeable": True, "mergeable_state": "blocked"}, Mergeability.BLOCKED),
        ({"mergeable": True, "mergeable_state": "behind"}, Mergeability.BLOCKED),
        ({"mergeable": False, "mergeable_state": "dirty"}, Mergeability.CONFLICTS),
        ({"mergeable": None, "mergeable_state": "unknown"}, Mergeability.CHECKING),
        ({"mergeable": None, "mergeable_state": "unknown", "state": "closed"}, Mergeability.UNKNOWN),
    ],
)
async def test_mergeability(host: Host, shown: Values, means: Mergeability) -> None:
    host.reply(200, pull(host, **{"state": "open", "merged": False, "merged_at": None, **shown}))
    assert (await host.client.pull_request(NAME, 7)).mergeability is means


async def test_a_pull_request_whose_fork_and_author_are_gone(host: Host) -> None:
    shown = pull(host, body=None, user=None, state="closed", merged=False, merged_at=None)
    shown["head"]["repo"] = None
    # The document says that both are objects.
    host.answer_beside(f"/repos/{NAME}/pulls/7", shown)
    found = await host.client.pull_request(NAME, 7)
    assert (found.head_repository, found.author, found.body) == (None, "ghost", "")
    assert found.state is PullRequestState.CLOSED


async def test_lists_hold_the_state_that_was_asked_for(host: Host) -> None:
    merged = host.example(
        "pull-request-simple-items", number=1, state="closed", merged_at="2026-01-01T00:00:00Z"
    )
    closed = host.example("pull-request-simple-items", number=2, state="closed", merged_at=None)
    for state, number in ((PullRequestState.MERGED, 1), (PullRequestState.CLOSED, 2)):
        host.reply(200, [merged, closed], next_link(f"/repos/{NAME}/pulls?state=closed&page=2"))
        page = await host.client.pull_requests(NAME, state=state, head=ODD_BRANCH)
        assert [one.number for one in page.items] == [number]
        assert page.next_page is not None
    assert host.contract.seen[0].query == {
        "state": "closed",
        "head": f"team:{ODD_BRANCH}",
        "per_page": "30",
    }
    host.reply(200, [])
    await host.client.pull_requests(NAME, page=page.next_page)
    assert host.contract.seen[2].query == {"state": "closed", "page": "2"}


async def test_changes_send_only_what_changes(host: Host) -> None:
    host.reply(200, pull(host)).reply(200, pull(host))
    changes = PullRequestChanges(title="New", state=PullRequestState.CLOSED)
    await host.client.update_pull_request(NAME, 7, changes)
    assert host.contract.seen[0].body == {"title": "New", "state": "closed"}


@pytest.mark.parametrize(
    ("is_draft", "call"), [(True, "convertPullRequestToDraft"), (False, "markPullRequestReadyForReview")]
)
async def test_drafts_are_made_and_ended_by_graphql(host: Host, is_draft: bool, call: str) -> None:
    host.reply(200, pull(host, node_id="PR_7")).reply(200, pull(host))
    host.answer_beside("/graphql", {"data": {call: {"clientMutationId": None}}})
    await host.client.update_pull_request(NAME, 7, PullRequestChanges(is_draft=is_draft))
    assert call in json.loads(host.asked[0].content)["query"]
    assert host.variables() == {"id": "PR_7"}


async def test_comments_are_read_page_by_page(host: Host) -> None:
    link = next_link(f"/repos/{NAME}/issues/7/comments?page=2")
    host.reply(200, [host.example("issue-comment-items", user=None)], link).reply(200, [])
    first = await host.client.comments(NAME, ItemKind.PULL_REQUEST, 7)
    assert first.items[0].author == "ghost"
    assert (await host.client.comments(NAME, ItemKind.PULL_REQUEST, 7, page=first.next_page)).items == ()


async def test_issues_that_are_turned_off_are_told(host: Host) -> None:
    shown = host.example("issue", number=9, state="closed", body=None)
    host.reply(200, shown).reply(410, {"message": "Issues are disabled for this repo"})
    found = await host.client.issue(NAME, 9)
    assert (found.number, found.is_open, found.body) == (9, False, "")
    assert found.labels == ("bug",)
    assert (await failure(host.client.issue(NAME, 9))).code == "git_host_feature_off"


def thread(number: int, **changes: Any) -> Values:
    comment = {
        "databaseId": 5,
        "body": "Is it not 5?",
        "createdAt": "2026-11-01T10:00:00Z",
        "url": "https://github.com/x#5",
        "author": None,
    }
    return {
        "id": f"T{number}",
        "isResolved": False,
        "path": "depth.txt",
        "line": None,
        "viewerCanResolve": True,
        "comments": {"nodes": [comment]},
        **changes,
    }


def threads(*nodes: Values, after: str | None) -> Values:
    info = {"hasNextPage": after is not None, "endCursor": after}
    return {
        "data": {"repository": {"pullRequest": {"reviewThreads": {"pageInfo": info, "nodes": list(nodes)}}}}
    }


async def test_review_threads_are_read_page_by_page(host: Host) -> None:
    host.answer_beside("/graphql", threads(thread(1), after="C1"))
    host.answer_beside("/graphql", threads(thread(2, isResolved=True, line=4), after=None))
    first, second = await host.client.review_threads(NAME, 7)
    assert (first.id, first.line, first.is_resolved, first.can_be_resolved) == ("T1", None, False, True)
    assert (first.comments[0].id, first.comments[0].author) == ("5", "ghost")
    assert (second.line, second.is_resolved) == (4, True)
    assert host.variables(0) == {"owner": "team", "name": "harbour", "number": 7, "after": None}
    assert host.variables(1)["after"] == "C1"


async def test_threads_are_answered_and_resolved(host: Host) -> None:
    comment = thread(1)["comments"]["nodes"][0]
    host.answer_beside("/graphql", {"data": {"addPullRequestReviewThreadReply": {"comment": comment}}})
    assert (await host.client.reply_to_thread(NAME, 7, "T1", "Yes.")).body == "Is it not 5?"
    assert host.variables() == {"id": "T1", "body": "Yes."}
    host.answer_beside("/graphql", {"data": {"resolveReviewThread": {"thread": {"isResolved": True}}}})
    await host.client.resolve_thread(NAME, 7, "T1")
    assert host.variables() == {"id": "T1"}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("NOT_FOUND", "git_host_not_found"),
        ("FORBIDDEN", "git_host_forbidden"),
        ("RATE_LIMITED", "git_rate_limited"),
        (None, "git_host_refused"),
    ],
)
async def test_errors_of_graphql_come_with_a_good_status(host: Host, kind: str | None, code: str) -> None:
    said = {"message": "The words of GitHub.", **({"type": kind} if kind else {})}
    host.answer_beside("/graphql", {"data": {"repository": None}, "errors": [said]})
    assert (await failure(host.client.review_threads(NAME, 7))).code == code


async def test_the_latest_verdict_of_each_reviewer_counts(host: Host) -> None:
    def review(author: str | None, state: str, body: str = "") -> Any:
        shown = host.example("pull-request-review-items", state=state, body=body)
        shown["user"] = {**shown["user"], "login": author} if author else None
        return shown

    host.reply(
        200,
        [review("ada", "CHANGES_REQUESTED"), review("bob", "APPROVED"), review("eve", "COMMENTED", "Hm")],
        next_link(f"/repos/{NAME}/pulls/7/reviews?page=2"),
    )
    host.reply(200, [review("ada", "APPROVED"), review("ada", "COMMENTED"), review("bob", "DISMISSED")])
    found = await host.client.reviews(NAME, 7)
    assert [(one.author, one.verdict, one.body) for one in found] == [
        ("ada", ReviewVerdict.APPROVED, ""),
        ("eve", ReviewVerdict.COMMENTED, "Hm"),
    ]


async def test_check_runs_and_statuses_are_one_list(host: Host) -> None:
    def run(number: int, status: str, conclusion: str | None, app: str = "github-actions") -> Any:
        shown = host.example("check-run-paginated")["check_runs"][0]
        shown |= {"id": number, "name": f"run {number}", "status": status, "conclusion": conclusion}
        return {**shown, "app": {**shown["app"], "slug": app}}

    runs = [
        run(1, "completed", "success"),
        run(2, "completed", "timed_out"),
        run(3, "completed", "neutral"),
        run(4, "in_progress", None),
        run(5, "completed", "failure", "other-ci"),
    ]
    status = host.example("combined-commit-status")
    for one, state in zip(status["statuses"], ("error", "pending"), strict=True):
        one["state"] = state
    host.reply(200, pull(host)).reply(200, {"total_count": 5, "check_runs": runs}).reply(200, status)
    shown = await host.client.pull_request(NAME, 7)
    found = await host.client.checks(NAME, shown)
    assert [(one.id, one.state) for one in found] == [
        ("1", CheckState.PASSED),
        ("2", CheckState.FAILED),
        ("3", CheckState.SKIPPED),
        ("4", CheckState.PENDING),
        (None, CheckState.FAILED),
        (None, CheckState.FAILED),
        (None, CheckState.PENDING),
    ]
    assert host.contract.seen[1].values["ref"] == shown.head_commit
    assert await host.client.checks(NAME, shown.model_copy(update={"head_commit": None})) == []


async def test_the_end_of_a_log_is_read_where_github_keeps_it() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if request.url.host == "api.github.com":
            return httpx.Response(302, headers={"location": "https://logs.example/5?sig=x"})
        return httpx.Response(200, content=b"\xff" + b"x" * 100_000 + b"\nassert 3 == 4\n")

    log = await client_of(httpx.MockTransport(handler)).check_log(NAME, "5")
    assert len(log) == 64 * 1024
    assert log.endswith("\nassert 3 == 4\n")
    assert seen[0].url.path == f"/repos/{NAME}/actions/jobs/5/logs"
    assert "authorization" not in seen[1].headers


def task(number: int, **changes: Any) -> Values:
    return {
        "number": number,
        "title": f"Title {number}",
        "mergeable": "MERGEABLE",
        "repository": {"nameWithOwner": NAME},
        "reviewThreads": {"nodes": []},
        "commits": {"nodes": [{"commit": {"statusCheckRollup": None}}]},
        **changes,
    }


async def test_suggested_tasks_say_what_waits_for_the_user(host: Host) -> None:
    failing = {"nodes": [{"commit": {"statusCheckRollup": {"state": "FAILURE"}}}]}
    pulls = [
        task(1, mergeable="CONFLICTING", commits=failing),
        task(2, commits=failing),
        task(3, reviewThreads={"nodes": [{"isResolved": True}, {"isResolved": False}]}),
        task(4),
        None,
    ]
    # An organisation with single sign-on hides its items, with an error, and the others are there.
    said = [{"type": "FORBIDDEN", "message": "Resource protected by organization SAML enforcement."}]
    body = {"data": {"pulls": {"nodes": pulls}, "issues": {"nodes": [task(5), None]}}, "errors": said}
    host.answer_beside("/graphql", body)
    found = await host.client.suggested_tasks()
    assert [(one.kind, one.number) for one in found] == [
        (TaskKind.MERGE_CONFLICTS, 1),
        (TaskKind.FAILING_CHECKS, 2),
        (TaskKind.UNRESOLVED_COMMENTS, 3),
        (TaskKind.OPEN_ISSUE, 5),
    ]
    assert found[0] == HostTask(kind=TaskKind.MERGE_CONFLICTS, repository=NAME, number=1, title="Title 1")


@pytest.mark.parametrize(
    ("headers", "fix"),
    [
        (
            {"x-github-sso": "required; url=https://github.com/orgs/team/sso?x=1"},
            "The token needs: the organisation's single sign-on (https://github.com/orgs/team/sso?x=1).",
        ),
        ({"x-accepted-github-permissions": "contents=write"}, "The token needs: contents=write."),
        ({"x-accepted-oauth-scopes": "repo"}, "The token needs: repo."),
        ({}, "Check what the token may do."),
    ],
)
async def test_what_the_token_lacks_is_told(host: Host, headers: dict[str, str], fix: str) -> None:
    host.reply(403, {"message": "Resource not accessible by personal access token"}, headers)
    error = await failure(host.client.add_comment(NAME, ItemKind.ISSUE, 7, "Hi"))
    assert (error.code, error.fix) == ("git_host_forbidden", fix)
