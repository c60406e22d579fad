"""Tests of pull requests at Forgejo and Gitea: reviews, comments and checks, and the tasks that wait for the
user.
"""

from typing import Any

import pytest

from app_server.git_hosts.schemas import (
    CheckState,
    ItemKind,
    ReviewVerdict,
    TaskKind,
)
from tests.app_server.git_hosts.forgejo_calls import (
    ADA,
    COMMENT,
    COMMIT,
    NAME,
    ORIGIN,
    PULL,
    Values,
    client,
    failure,
)
from tests.support.forgejo_host import ALSO, Nullable
from tests.support.host_clients import changed
from tests.support.host_contract import HostContract

ISSUE: Values = {
    "number": 9,
    "title": "Measure it",
    "body": "",
    "html_url": f"{ORIGIN}/{NAME}/issues/9",
    "state": "open",
    "user": ADA,
    "labels": [{"id": 1, "name": "bug"}],
    "assignees": None,
    "repository": {"id": 42, "full_name": NAME, "name": "harbour", "owner": "team"},
}


@pytest.fixture(params=["forgejo-16", "gitea-1.28dev"])
def host(request: pytest.FixtureRequest) -> HostContract:
    return Nullable(f"{request.param}.openapi.json", base="/api/v1", also=ALSO)


async def test_comments_and_issues(host: HostContract) -> None:
    host.reply(200, [COMMENT, changed(COMMENT, user=None, original_author="old")])
    page = await client(host).comments(NAME, ItemKind.ISSUE, 9)
    assert [one.author for one in page.items] == ["ada", "old"]
    host.reply(200, ISSUE)
    found = await client(host).issue(NAME, 9)
    assert (found.number, found.is_open, found.labels, found.assignees) == (9, True, ("bug",), ())


def review_comment(number: int, position: int, **more: Any) -> Values:
    return {
        **COMMENT,
        "id": number,
        "path": "a dir/depth.txt",
        "position": position,
        "resolver": None,
        **more,
    }


REVIEW: Values = {"id": 1, "state": "COMMENT", "user": ADA, "body": "", "comments_count": 2}


async def test_comments_on_one_line_are_one_thread(host: HostContract) -> None:
    host.reply(200, [REVIEW, changed(REVIEW, id=2), changed(REVIEW, id=3, comments_count=0)])
    # The client reads the reviews at the same time, so each answer must fit each of the two requests.
    host.reply(200, [review_comment(12, 4), review_comment(10, 8, resolver=ADA)])
    host.reply(200, [review_comment(11, 4)])
    threads = {one.id: one for one in await client(host).review_threads(NAME, 7)}
    assert list(threads) == ["4 a dir/depth.txt", "8 a dir/depth.txt"]
    first, second = threads.values()
    assert [one.id for one in first.comments] == ["11", "12"]
    assert (first.line, first.path, first.is_resolved) == (4, "a dir/depth.txt", False)
    assert (second.is_resolved, second.can_be_resolved) == (True, False)


async def test_an_answer_to_a_thread_is_a_review_on_its_line(host: HostContract) -> None:
    host.reply(200, REVIEW).reply(200, [review_comment(13, 4, body="Yes.")])
    added = await client(host).reply_to_thread(NAME, 7, "4 a dir/depth.txt", "Yes.")
    assert (added.id, added.body) == ("13", "Yes.")
    assert host.seen[0].body == {
        "event": "COMMENT",
        "comments": [{"path": "a dir/depth.txt", "new_position": 4, "body": "Yes."}],
    }


async def test_what_the_api_lacks_is_told(host: HostContract) -> None:
    for call in (client(host).resolve_thread(NAME, 7, "4 x"), client(host).check_log(NAME, "1")):
        assert (await failure(call)).code == "git_host_cannot"
    assert host.seen == []


async def test_the_latest_verdict_of_each_reviewer_counts(host: HostContract) -> None:
    eve = changed(ADA, login="eve")
    host.reply(
        200,
        [
            changed(REVIEW, state="REQUEST_CHANGES"),
            changed(REVIEW, state="APPROVED", user=eve, dismissed=True),
            changed(REVIEW, state="REQUEST_REVIEW", user=eve),
            changed(REVIEW, state="APPROVED", body="Good"),
            changed(REVIEW, state="COMMENT"),
        ],
    )
    found = await client(host).reviews(NAME, 7)
    assert [(one.author, one.verdict, one.body) for one in found] == [("ada", ReviewVerdict.APPROVED, "Good")]


async def test_checks_are_the_statuses_of_the_last_commit(host: HostContract) -> None:
    states = ("success", "warning", "pending", "failure", "error")
    statuses = [{"id": n, "context": f"ci/{s}", "status": s, "target_url": ""} for n, s in enumerate(states)]
    host.reply(200, PULL).reply(200, {"state": "failure", "statuses": statuses, "total_count": 5})
    pull = await client(host).pull_request(NAME, 7)
    found = await client(host).checks(NAME, pull)
    passed, pending, failed = CheckState.PASSED, CheckState.PENDING, CheckState.FAILED
    assert [one.state for one in found] == [passed, passed, pending, failed, failed]
    assert (found[0].name, found[0].url) == ("ci/success", None)
    assert (host.seen[1].values["ref"], host.seen[1].query) == (COMMIT, {"limit": "50"})
    host.reply(200, {"state": "pending", "statuses": None, "total_count": 0})
    assert await client(host).checks(NAME, pull) == []


async def test_suggested_tasks_say_what_waits_for_the_user(host: HostContract) -> None:
    pull_issue = changed(ISSUE, number=7, title="Fix the depth")
    host.reply(200, [pull_issue]).reply(200, [ISSUE])
    host.reply(200, changed(PULL, mergeable=False))
    found = await client(host).suggested_tasks()
    assert [(one.kind, one.repository, one.number) for one in found] == [
        (TaskKind.MERGE_CONFLICTS, NAME, 7),
        (TaskKind.OPEN_ISSUE, NAME, 9),
    ]
    assert host.seen[0].query == {"type": "pulls", "state": "open", "created": "true", "limit": "50"}
    assert host.seen[1].query == {"type": "issues", "state": "open", "assigned": "true", "limit": "50"}


@pytest.mark.parametrize(
    ("status", "threads", "kind"),
    [
        ("failure", None, TaskKind.FAILING_CHECKS),
        ("success", [review_comment(1, 4)], TaskKind.UNRESOLVED_COMMENTS),
        ("success", [review_comment(1, 4, resolver=ADA)], None),
    ],
)
async def test_pull_requests_without_conflicts_may_wait_for_more(
    host: HostContract, status: str, threads: list[Values] | None, kind: TaskKind | None
) -> None:
    host.reply(200, [changed(ISSUE, number=7)]).reply(200, []).reply(200, PULL)
    host.reply(200, {"state": status, "statuses": [{"id": 1, "context": "ci", "status": status}]})
    if threads is not None:
        host.reply(200, [REVIEW]).reply(200, threads)
    assert [one.kind for one in await client(host).suggested_tasks()] == ([kind] if kind else [])
    assert host.is_used_up


async def test_the_words_of_the_host_are_told(host: HostContract) -> None:
    said = "token does not have at least one of required scope(s): [write:issue]"
    host.reply(403, {"message": said, "url": f"{ORIGIN}/api/swagger"})
    error = await failure(client(host).add_comment(NAME, ItemKind.ISSUE, 9, "Hi"))
    assert error.detail == f"git.example does not allow this: {said}."
    host.reply(404, {"errors": ["one", "two"], "message": "", "url": ""})
    assert "one; two" in (await failure(client(host).repository(NAME))).detail
