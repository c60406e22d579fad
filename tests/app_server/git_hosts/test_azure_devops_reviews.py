"""Tests of pull requests at Azure DevOps: reviews, comments and checks, and the tasks that wait for the
user.
"""

import json
from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.schemas import (
    CheckState,
    ItemKind,
    PullRequest,
    PullRequestState,
    ReviewVerdict,
    TaskKind,
)
from tests.app_server.git_hosts.azure_devops_calls import (
    ADA,
    ALSO,
    COMMIT,
    EVE,
    IDENTITY,
    NAME,
    PULL,
    REPOSITORY,
    client,
    items,
)
from tests.support.host_clients import changed
from tests.support.host_contract import HostContract

NOTE: dict[str, Any] = {
    "id": 1,
    "content": "Good",
    "author": ADA,
    "commentType": "text",
    "publishedDate": "2026-11-01T10:00:00Z",
}


@pytest.fixture
def host() -> HostContract:
    return HostContract(
        "azure-devops-7.1.openapi.json", also=ALSO, envelope="value", extra_query=("path", "$format")
    )


async def test_comments_and_threads(host: HostContract) -> None:
    place = {"filePath": "/src/ä b.py", "rightFileEnd": {"line": 12, "offset": 1}}
    threads = items(
        {"id": 2, "status": "active", "comments": [NOTE, changed(NOTE, id=2)], "threadContext": place},
        {"id": 3, "comments": [NOTE, changed(NOTE, id=2, isDeleted=True)]},
        {"id": 1, "comments": [changed(NOTE, commentType="system", publishedDate="2026-10-01T10:00:00Z")]},
    )
    host.reply(200, threads).reply(200, threads)
    comments = (await client(host).comments(NAME, ItemKind.PULL_REQUEST, 7)).items
    assert [(one.id, one.is_by_system) for one in comments] == [("1/1", True), ("3/1", False)]
    found = await client(host).review_threads(NAME, 7)
    assert [(one.id, one.path, one.line, one.is_resolved) for one in found] == [
        ("2", "src/ä b.py", 12, False)
    ]
    assert [one.id for one in found[0].comments] == ["2/1", "2/2"]
    host.reply(200, {"id": 4, "comments": [NOTE]}).reply(200, changed(NOTE, content="New"))
    added = await client(host).add_comment(NAME, ItemKind.PULL_REQUEST, 7, "Hi")
    assert "status" not in host.seen[-1].body
    edited = await client(host).edit_comment(NAME, ItemKind.PULL_REQUEST, 7, added.id, "New")
    assert (added.id, edited.body, host.seen[-1].values["thread"]) == ("4/1", "New", "4")
    host.reply(200, changed(NOTE, id=3)).reply(200, {"id": 2, "status": "fixed"})
    assert (await client(host).reply_to_thread(NAME, 7, "2", "Done")).id == "2/3"
    await client(host).resolve_thread(NAME, 7, "2")
    assert host.seen[-1].body == {"status": "fixed"}


async def test_reviews_are_votes_of_people(host: HostContract) -> None:
    host.reply(200, PULL)
    found = [(one.author, one.verdict) for one in await client(host).reviews(NAME, 7)]
    assert found == [("eve@acme.org", ReviewVerdict.CHANGES_REQUESTED)]


async def test_a_work_item_is_an_issue_in_plain_text(host: HostContract) -> None:
    fields = {
        "System.Title": "Broken",
        "System.State": "Active",
        "System.CreatedBy": ADA,
        "System.AssignedTo": EVE,
        "System.Tags": "ui; login ",
        "System.Description": '<div>It&nbsp;is<br>broken</div><ul><li>a</li><li><a href="https://x">b</a></li></ul>',
    }
    host.reply(200, {"id": 30, "rev": 1, "url": "u", "fields": fields})
    found = await client(host).issue(NAME, 30)
    assert found.body == "It is\nbroken\n\n\n- a\n- b (https://x)".replace("\n\n\n", "\n\n")
    assert (found.labels, found.assignees, found.is_open) == (("ui", "login"), ("eve@acme.org",), True)
    assert found.url == "https://dev.azure.com/acme/My%20Project/_workitems/edit/30"
    note = {"id": 5, "text": "<p>Yes</p>", "createdBy": ADA, "createdDate": "2026-11-01T10:00:00Z"}
    host.reply(200, {"comments": [note], "continuationToken": "next"})
    comments = await client(host).comments(NAME, ItemKind.ISSUE, 30)
    assert (comments.items[0].body, comments.next_page) == ("Yes", "next")
    assert host.seen[-1].query["api-version"] == "7.1-preview.4"
    host.reply(200, note).reply(200, note)
    await client(host).add_comment(NAME, ItemKind.ISSUE, 30, "a < b\nc")
    assert host.seen[-1].body == {"text": "a &lt; b<br>c"}
    await client(host).edit_comment(NAME, ItemKind.ISSUE, 30, "5", "d")
    assert host.seen[-1].values["comment"] == "5"


def _pull() -> PullRequest:
    return PullRequest(
        number=7,
        title="Fix",
        body="",
        url="https://example.org/1",
        state=PullRequestState.OPEN,
        is_draft=False,
        head="fix/ä",
        base="main",
        head_repository=NAME,
        head_commit=COMMIT,
        author="ada",
    )


async def test_checks_are_builds_statuses_and_policies(host: HostContract) -> None:
    build = {"id": 50, "buildNumber": "2026.1", "status": "completed", "result": "failed"}
    ci = {"id": 1, "name": "CI"}
    of_pull = changed(build, definition=ci)
    older = changed(build, id=40, definition=ci, result="succeeded")
    of_branch = changed(
        build, id=60, definition={"id": 2, "name": "Lint"}, status="inProgress", sourceVersion=COMMIT
    )
    statuses = [
        {"id": 1, "context": {"genre": "sonar", "name": "gate"}, "state": "pending"},
        {"id": 2, "context": {"genre": "sonar", "name": "gate"}, "state": "succeeded"},
    ]
    policies = [
        {
            "status": "queued",
            "configuration": {"settings": {"buildDefinitionId": 3, "displayName": "Nightly"}},
        },
        {"status": "queued", "configuration": {"settings": {"minimumApproverCount": 2}}},
    ]
    host.reply(200, REPOSITORY).reply(200, items(of_pull, older))
    host.reply(200, items(of_branch, changed(of_branch, id=61, sourceVersion="other")))
    host.reply(200, items(*statuses)).reply(200, items(*policies))
    found = await client(host).checks(NAME, _pull())
    assert [(one.id, one.name, one.state) for one in found] == [
        ("build:50", "CI", CheckState.FAILED),
        ("build:60", "Lint", CheckState.PENDING),
        (None, "sonar/gate", CheckState.PASSED),
        (None, "Nightly", CheckState.PENDING),
    ]


async def test_the_log_of_a_build_is_that_of_its_failed_tasks(host: HostContract) -> None:
    records = [
        {"type": "Job", "result": "failed", "log": {"id": 1}},
        {"type": "Task", "result": "succeeded", "log": {"id": 2}},
        {"type": "Task", "result": "failed", "log": {"id": 3}},
    ]
    host.reply(200, {"records": records}).reply(200, b"AssertionError\n", {"content-type": "text/plain"})
    assert await client(host).check_log(NAME, "build:50") == "AssertionError\n"
    assert host.seen[-1].values["log"] == "3"


async def test_suggested_tasks(host: HostContract) -> None:
    its = client(host, "https://dev.azure.com/acme")
    host.reply(200, {"authenticatedUser": IDENTITY}).reply(200, items(changed(PULL, mergeStatus="conflicts")))
    other = changed(REPOSITORY, name="My Project")
    host.reply(200, items(REPOSITORY, other)).reply(200, {"workItems": [{"id": 30}, {"id": 31}]})
    rows = [
        {"id": 30, "fields": {"System.Title": "Broken", "System.TeamProject": "My Project"}},
        {"id": 31, "fields": {"System.Title": "Elsewhere", "System.TeamProject": "Without git"}},
    ]
    host.reply(200, items(*rows))
    tasks = await its.suggested_tasks()
    assert [(one.kind, one.repository, one.number) for one in tasks] == [
        (TaskKind.MERGE_CONFLICTS, NAME, 7),
        (TaskKind.OPEN_ISSUE, "acme/My Project/My Project", 30),
    ]
    assert host.seen[1].query["searchCriteria.creatorId"] == "e-1"


@pytest.mark.parametrize(
    ("status", "said", "code", "words"),
    [
        (401, {"message": "TF400813: not authorized"}, "git_token_refused", "refuses the token"),
        (403, {"message": "TF401027: You need"}, "git_host_forbidden", "TF401027"),
        (404, {"message": "TF401019: The repository"}, "git_host_not_found", "TF401019"),
        (400, {"message": "A description is too long", "typeKey": "X"}, "git_host_refused", "too long"),
        (400, ["odd"], "git_host_refused", "refuses this"),
        (429, {"message": "slow"}, "git_rate_limited", "no more calls"),
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
