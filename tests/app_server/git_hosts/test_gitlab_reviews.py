"""Tests of merge requests at GitLab: reviews, comments and checks, and the tasks that wait for the user."""

import json
from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.schemas import (
    CheckState,
    ItemKind,
    ReviewVerdict,
    TaskKind,
)
from tests.app_server.git_hosts.gitlab_calls import COMMIT, MERGE_REQUEST, NAME, NOTE, PERSON, client
from tests.support.gitlab_host import ALSO
from tests.support.host_clients import changed
from tests.support.host_contract import HostContract


@pytest.fixture
def host() -> HostContract:
    return HostContract("gitlab-from-client-go.openapi.json", base="/api/v4", also=ALSO)


async def test_comments_leave_out_notes_on_lines(host: HostContract) -> None:
    host.reply(200, [NOTE, changed(NOTE, id=6, type="DiffNote"), changed(NOTE, id=7, system=True)])
    found = (await client(host).comments(NAME, ItemKind.PULL_REQUEST, 7)).items
    assert [(one.id, one.is_by_system) for one in found] == [("5", False), ("7", True)]
    host.reply(201, NOTE).reply(200, changed(NOTE, body="New"))
    await client(host).add_comment(NAME, ItemKind.ISSUE, 3, "Hi")
    edited = await client(host).edit_comment(NAME, ItemKind.ISSUE, 3, "5", "New")
    assert edited.body == "New"


async def test_review_threads_are_read_answered_and_resolved(host: HostContract) -> None:
    position = {"new_path": "src/ä b.py", "new_line": 12}
    on_line = changed(NOTE, resolvable=True, resolved=False, position=position)
    page = "https://gitlab.example/api/v4/projects/42/merge_requests/7/discussions?page=2"
    threads = [
        {"id": "abc", "individual_note": False, "notes": [on_line, changed(NOTE, id=6)]},
        {"id": "def", "individual_note": True, "notes": [NOTE]},
    ]
    host.reply(200, threads, {"link": f'<{page}>; rel="next"'})
    host.reply(200, [{"id": "ghi", "notes": [changed(on_line, resolved=True, position=None)]}])
    found = await client(host).review_threads(NAME, 7)
    assert [(one.id, one.path, one.line, one.is_resolved) for one in found] == [
        ("abc", "src/ä b.py", 12, False),
        ("ghi", None, None, True),
    ]
    assert [one.id for one in found[0].comments] == ["5", "6"]
    host.reply(201, NOTE).reply(200, threads[0])
    await client(host).reply_to_thread(NAME, 7, "abc", "Done")
    await client(host).resolve_thread(NAME, 7, "abc")
    assert [one.values["discussion_id"] for one in host.seen[-2:]] == ["abc", "abc"]


async def test_reviews_come_from_reviewers_and_approvals(host: HostContract) -> None:
    eve = changed(PERSON, id=8, username="eve")
    host.reply(200, [{"user": PERSON, "state": "requested_changes"}, {"user": eve, "state": "unreviewed"}])
    host.reply(200, {"approved_by": [{"user": eve}]})
    found = {one.author: one.verdict for one in await client(host).reviews(NAME, 7)}
    assert found == {"ada": ReviewVerdict.CHANGES_REQUESTED, "eve": ReviewVerdict.APPROVED}


async def test_an_issue(host: HostContract) -> None:
    issue = {
        "id": 1,
        "iid": 3,
        "title": "Broken",
        "description": "It *is*",
        "state": "opened",
        "author": None,
        "labels": ["bug"],
        "assignees": [PERSON],
        "web_url": "https://gitlab.example/i/3",
    }
    host.reply(200, issue)
    found = await client(host).issue(NAME, 3)
    assert (found.number, found.is_open, found.author, found.assignees) == (3, True, "ghost", ("ada",))


async def test_checks_are_the_jobs_of_the_newest_pipeline_and_statuses(host: HostContract) -> None:
    host.reply(200, MERGE_REQUEST)
    pull = await client(host).pull_request(NAME, 7)
    pipelines = [{"id": 12, "project_id": 99, "sha": COMMIT}, {"id": 11, "project_id": 99, "sha": COMMIT}]
    jobs = [
        {"id": 1, "name": "test", "status": "failed", "failure_reason": "script_failure"},
        {"id": 2, "name": "lint", "status": "running"},
        {"id": 3, "name": "spell", "status": "failed", "allow_failure": True},
    ]
    statuses = [
        {"id": 1, "name": "test", "status": "failed"},
        {"id": 9, "name": "coverage", "status": "success", "target_url": "https://c.example"},
    ]
    host.reply(200, pipelines).reply(200, jobs).reply(200, statuses)
    checks = await client(host).checks(NAME, pull)
    assert [(one.id, one.name, one.state) for one in checks] == [
        ("99:1", "test", CheckState.FAILED),
        ("99:2", "lint", CheckState.PENDING),
        ("99:3", "spell", CheckState.SKIPPED),
        (None, "coverage", CheckState.PASSED),
    ]
    assert host.seen[2].values == {"id": "99", "pipeline_id": "12"}
    trace = b"x" * 200_000 + b"\n\x1b[0Ksection_start:17:step\r\x1b[31;1mAssertionError\x1b[0m\n"
    host.reply(200, trace, {"content-type": "text/plain"})
    log = await client(host).check_log(NAME, "99:1")
    assert (log.endswith("x\nAssertionError\n"), len(log)) == (True, 64 * 1024)
    assert host.seen[-1].values == {"id": "99", "job_id": "1"}


async def test_suggested_tasks(host: HostContract) -> None:
    rows = [changed(MERGE_REQUEST, iid=number) for number in (1, 2, 3, 4)]
    issue = {"id": 1, "iid": 30, "title": "Broken", "state": "opened", "references": {"full": f"{NAME}#30"}}
    host.reply(200, rows).reply(200, [issue])
    host.reply(200, changed(rows[0], has_conflicts=True))
    host.reply(200, changed(rows[1], head_pipeline={"status": "failed"}))
    host.reply(200, changed(rows[2], blocking_discussions_resolved=False)).reply(200, rows[3])
    tasks = await client(host).suggested_tasks()
    assert sorted((one.kind, one.number) for one in tasks) == [
        (TaskKind.FAILING_CHECKS, 2),
        (TaskKind.MERGE_CONFLICTS, 1),
        (TaskKind.OPEN_ISSUE, 30),
        (TaskKind.UNRESOLVED_COMMENTS, 3),
    ]
    assert {one.repository for one in tasks} == {NAME}


@pytest.mark.parametrize(
    ("status", "said", "code", "words"),
    [
        (401, {"error": "invalid_token"}, "git_token_refused", "refuses the token"),
        (403, {"message": "403 Forbidden"}, "git_host_forbidden", "403 Forbidden"),
        (404, {"message": "404 Project Not Found"}, "git_host_not_found", "cannot see it"),
        (
            400,
            {"message": {"title": ["is too long"], "base": ["is empty"]}},
            "git_host_refused",
            "title is too long",
        ),
        (400, {"message": ["one", "two"]}, "git_host_refused", "one, two"),
        (422, {"error": "per_page is invalid"}, "git_host_refused", "per_page is invalid"),
        (400, ["odd"], "git_host_refused", "refuses this"),
        (429, {"message": "Retry later"}, "git_rate_limited", "no more calls"),
    ],
)
async def test_errors_have_the_words_of_the_host(
    host: HostContract, status: int, said: Any, code: str, words: str
) -> None:
    host.reply(status, json.dumps(said).encode(), {"content-type": "application/json"})
    with pytest.raises(AppError) as error:
        await client(host).repository(NAME)
    assert error.value.code == code
    assert words in error.value.detail


async def test_a_missing_scope_is_named(host: HostContract) -> None:
    host.reply(
        403, {"error": "insufficient_scope", "error_description": "Higher needed", "scope": "api read_api"}
    )
    with pytest.raises(AppError) as error:
        await client(host).repository(NAME)
    assert error.value.fix == "The token needs: api read_api."
