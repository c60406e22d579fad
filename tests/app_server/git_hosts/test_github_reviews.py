"""Tests of pull requests at GitHub: reviews, comments and checks, and the tasks that wait for the user."""

import json
from typing import Any

import httpx
import pytest

from app_server.git_hosts.schemas import (
    CheckState,
    HostTask,
    ItemKind,
    PullRequestChanges,
    ReviewVerdict,
    TaskKind,
)
from tests.app_server.git_hosts.github_calls import (
    NAME,
    Host,
    Values,
    client_of,
    failure,
    next_link,
    pull,
)


@pytest.fixture
def host() -> Host:
    return Host()


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
    # An organisation with single sign-on hides its items: the answer has an error and also the other items.
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
