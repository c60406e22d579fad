"""Tests of the client of Bitbucket Data Center: each call is checked against what Bitbucket accepts."""

import json
from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.bitbucket_data_center.client import BitbucketDataCenter, bitbucket_data_center
from app_server.git_hosts.schemas import (
    CheckState,
    ItemKind,
    Mergeability,
    NewPullRequest,
    PullRequestChanges,
    PullRequestState,
    ReviewVerdict,
    TaskKind,
)
from tests.support.bitbucket_facts import DATA_CENTER
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

NAME = "PRJ/my.repo"
COMMIT = "8e0b45049b6253b8984cde9241830d2851168142"
ADA: dict[str, Any] = {
    "id": 1,
    "name": "ada",
    "slug": "ada",
    "displayName": "Ada",
    "emailAddress": "ada@x.org",
}
EVE = {**ADA, "id": 2, "name": "Eve"}
REPOSITORY: dict[str, Any] = {
    "id": 3,
    "slug": "my.repo",
    "name": "My repo",
    "project": {"key": "PRJ", "name": "Project"},
    "public": False,
    "links": {
        "self": [{"href": "https://git.example/projects/PRJ/repos/my.repo/browse"}],
        "clone": [
            {"href": "ssh://git@git.example/prj/my.repo.git", "name": "ssh"},
            {"href": "https://ada@git.example/scm/prj/my.repo.git", "name": "http"},
        ],
    },
}
PULL: dict[str, Any] = {
    "id": 7,
    "version": 2,
    "title": "Fix",
    "description": "Why",
    "state": "OPEN",
    "draft": True,
    "author": {"user": ADA},
    "reviewers": [{"user": EVE, "status": "NEEDS_WORK"}, {"user": ADA, "status": "UNAPPROVED"}],
    "fromRef": {"id": "refs/heads/fix/ä", "latestCommit": COMMIT, "repository": REPOSITORY},
    "toRef": {"id": "refs/heads/main", "repository": REPOSITORY},
    "links": {"self": [{"href": "https://git.example/projects/PRJ/repos/my.repo/pull-requests/7"}]},
    "updatedDate": 1_793_527_200_000,
}
COMMENT: dict[str, Any] = {
    "id": 5,
    "version": 0,
    "text": "Good",
    "author": ADA,
    "createdDate": 1,
    "comments": [],
}
NEW = NewPullRequest(title="Fix", body="Why", head="fix/ä", base="main", is_draft=True)
STALE = {
    "errors": [{"context": None, "message": "You are attempting to modify based on out-of-date information."}]
}


def page(*found: Any, next_start: int | None = None) -> dict[str, Any]:
    last = {"isLastPage": next_start is None}
    return {"values": list(found), **last, **({} if next_start is None else {"nextPageStart": next_start})}


def added(comment: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "action": "COMMENTED", "commentAction": "ADDED", "comment": comment, **more}


@pytest.fixture
def host() -> HostContract:
    return HostContract(None, base="/rest", also=DATA_CENTER)


def client(host: HostContract, api_url: str | None = None) -> BitbucketDataCenter:
    return client_of(bitbucket_data_center, host, "https://git.example", api_url=api_url)


async def test_me_is_who_the_header_names(host: HostContract) -> None:
    host.reply(200, {"version": "9.4"}, {"x-ausername": "ada%40x"}).reply(404, {"errors": []})
    host.reply(200, page(EVE, changed(ADA, name="ada@x")))
    assert (await client(host).me()).login == "ada@x"
    assert host.seen[0].headers["authorization"] == "Bearer a-token"
    host.reply(200, {"version": "9.4"})
    with pytest.raises(AppError) as error:
        await client(host, "https://git.example/rest/api/1.0/").me()
    assert error.value.code == "git_token_refused"


async def test_repositories_go_on_at_the_next_start(host: HostContract) -> None:
    host.reply(200, page(REPOSITORY, next_start=30)).reply(200, page())
    first = await client(host).repositories("my", organization="PRJ")
    assert host.seen[0].query == {
        "name": "my",
        "projectkey": "PRJ",
        "permission": "REPO_WRITE",
        "limit": "30",
    }
    found = first.items[0]
    assert (found.full_name, found.can_push) == (NAME, True)
    assert found.clone_url == "https://git.example/scm/prj/my.repo.git"
    assert found.web_url == "https://git.example/projects/PRJ/repos/my.repo"
    last = await client(host).repositories("my", page=first.next_page)
    assert (host.seen[1].query["start"], last.next_page) == ("30", None)
    host.reply(200, page({"key": "PRJ", "name": "Project"}))
    assert (await client(host).organizations()).items[0].id == "PRJ"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"displayId": "main", "id": "refs/heads/main"}, "main"),
        (204, b"", None),
        (404, {"errors": []}, None),
    ],
)
async def test_the_default_branch(host: HostContract, status: int, body: Any, expected: str | None) -> None:
    host.reply(200, changed(REPOSITORY, origin=REPOSITORY, project={"key": "~ada"})).reply(status, body)
    found = await client(host).repository("~ada/my.repo")
    assert (found.default_branch, found.owner_kind, found.parent) == (expected, "user", NAME)


async def test_branches_and_files(host: HostContract) -> None:
    host.reply(200, page({"id": "refs/heads/fix/ä", "displayId": "fix/ä", "latestCommit": COMMIT}))
    assert (await client(host).branches(NAME, "fix/")).items[0].name == "fix/ä"
    host.reply(200, b"text", {"content-type": "text/plain"})
    assert await client(host).file(NAME, ".slipway/set up.sh", "fix/ä") == b"text"
    assert (host.seen[1].values["path"], host.seen[1].query) == (
        ".slipway/set up.sh",
        {"at": "refs/heads/fix/ä"},
    )
    host.reply(404, {"errors": []}).reply(200, b"tagged", {"content-type": "text/plain"})
    assert await client(host).file(NAME, "a", "v1") == b"tagged"
    host.reply(404, {"errors": []})
    assert await client(host).file(NAME, "a", COMMIT) is None
    assert host.seen[-1].query == {"at": COMMIT}


@pytest.mark.parametrize(("found", "may"), [([EVE], True), ([ADA], False), ([], False)])
async def test_who_may_push(host: HostContract, found: list[Any], may: bool) -> None:
    host.reply(200, page(*found))
    assert await client(host).may_push(NAME, "eve") is may
    assert host.seen[0].query["permission.1.repositorySlug"] == "my.repo"


async def test_a_pull_request_is_opened_and_says_what_was_left_out(host: HostContract) -> None:
    host.reply(200, page()).reply(200, page(EVE)).reply(200, page())
    host.reply(201, {key: value for key, value in PULL.items() if key != "draft"})
    wanted = {"reviewers": ("eve", "ghost"), "labels": ("bug",)}
    opened = await client(host).create_pull_request(NAME, NEW.model_copy(update=wanted))
    main = {"id": "refs/heads/main", "repository": {"slug": "my.repo", "project": {"key": "PRJ"}}}
    assert host.seen[-1].body == {
        "title": "Fix",
        "description": "Why",
        "draft": True,
        "fromRef": {**main, "id": "refs/heads/fix/ä"},
        "toRef": main,
        "reviewers": [{"user": {"name": "Eve"}}],
    }
    assert ["ghost" in opened.left_out[0], "labels" in opened.left_out[1]] == [True, True]
    assert "no drafts" in opened.left_out[2]


async def test_opening_twice_gives_the_same_one(host: HostContract) -> None:
    other = changed(PULL, id=6, toRef={"id": "refs/heads/dev", "repository": REPOSITORY})
    host.reply(200, page(other, PULL))
    opened = await client(host).create_pull_request(
        NAME, NEW.model_copy(update={"head_repository": "~ada/fork"})
    )
    assert (opened.is_new, opened.pull_request.number) == (False, 7)
    assert host.seen[0].values == {"key": "~ada", "slug": "fork"}
    host.reply(200, page()).reply(409, {"errors": [{"message": "Only one pull request may be open"}]})
    host.reply(200, page(PULL))
    assert not (await client(host).create_pull_request(NAME, NEW)).is_new
    host.reply(200, page()).reply(409, {"errors": [{"message": "There is nothing to merge"}]}).reply(
        200, page()
    )
    with pytest.raises(AppError) as error:
        await client(host).create_pull_request(NAME, NEW)
    assert "nothing to merge" in error.value.detail


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        ({"canMerge": True, "conflicted": False, "outcome": "CLEAN", "vetoes": []}, Mergeability.CLEAN),
        ({"canMerge": False, "conflicted": True, "outcome": "CONFLICTED"}, Mergeability.CONFLICTS),
        ({"canMerge": False, "conflicted": False, "vetoes": [{"summaryMessage": "x"}]}, Mergeability.BLOCKED),
        ({"canMerge": False, "outcome": "UNKNOWN"}, Mergeability.CHECKING),
    ],
)
async def test_mergeability(host: HostContract, merge: dict[str, Any], expected: Mergeability) -> None:
    host.reply(200, PULL).reply(200, merge)
    found = await client(host).pull_request(NAME, 7)
    assert (found.mergeability, found.head, found.head_commit) == (expected, "fix/ä", COMMIT)


async def test_pull_requests_of_a_branch(host: HostContract) -> None:
    host.reply(200, page(changed(PULL, state="DECLINED")))
    found = await client(host).pull_requests(NAME, state=PullRequestState.CLOSED, head="fix/ä")
    assert found.items[0].state is PullRequestState.CLOSED
    assert host.seen[0].query["at"] == "refs/heads/fix/ä"
    assert host.seen[0].query["direction"] == "OUTGOING"


async def test_a_change_is_made_again_when_someone_else_was_faster(host: HostContract) -> None:
    host.reply(200, PULL).reply(409, STALE).reply(200, changed(PULL, version=3)).reply(200, PULL)
    host.reply(200, PULL).reply(200, {"conflicted": False})
    await client(host).update_pull_request(NAME, 7, PullRequestChanges(title="New", is_draft=False))
    assert [one.body["version"] for one in host.seen if one.method == "PUT"] == [2, 3]
    body = host.seen[3].body
    assert (body["title"], body["description"], body["draft"]) == ("New", "Why", False)
    assert body["reviewers"] == [{"user": {"name": "Eve"}}, {"user": {"name": "ada"}}]
    host.reply(200, COMMENT).reply(409, STALE).reply(200, changed(COMMENT, version=1))
    host.reply(200, changed(COMMENT, text="New"))
    assert (await client(host).edit_comment(NAME, ItemKind.PULL_REQUEST, 7, "5", "New")).body == "New"
    host.reply(200, COMMENT).reply(409, STALE).reply(200, COMMENT).reply(409, STALE)
    with pytest.raises(AppError) as error:
        await client(host).resolve_thread(NAME, 7, "5")
    assert error.value.code == "git_host_conflict"


async def test_a_pull_request_is_closed_once(host: HostContract) -> None:
    declined = changed(PULL, state="DECLINED")
    host.reply(200, PULL).reply(200, declined).reply(200, declined)
    changes = PullRequestChanges(state=PullRequestState.CLOSED)
    assert (await client(host).update_pull_request(NAME, 7, changes)).state is PullRequestState.CLOSED
    assert host.seen[1].query == {"version": "2"}
    host.reply(200, declined).reply(200, declined)
    await client(host).update_pull_request(NAME, 7, changes)
    assert host.is_used_up


async def test_comments_and_threads_oldest_first(host: HostContract) -> None:
    answer = changed(COMMENT, id=9, createdDate=9)
    on_line = changed(COMMENT, id=8, comments=[answer], threadResolved=False)
    anchor = {"path": {"components": ["src", "ä b.py"]}, "line": 12}
    activities = [
        {"id": 4, "action": "APPROVED"},
        added(on_line, commentAnchor=anchor),
        added(changed(COMMENT, id=7)),
        {**added(COMMENT), "commentAction": "EDITED"},
    ]
    host.reply(200, page(*activities, next_start=4)).reply(200, page(added(COMMENT)))
    comments = (await client(host).comments(NAME, ItemKind.PULL_REQUEST, 7)).items
    assert [one.id for one in comments] == ["5", "7"]
    assert (
        comments[0].url
        == "https://git.example/projects/PRJ/repos/my.repo/pull-requests/7/overview?commentId=5"
    )
    host.reply(200, page(*activities))
    threads = await client(host).review_threads(NAME, 7)
    assert [(one.id, one.path, one.line, one.can_be_resolved) for one in threads] == [
        ("8", "src/ä b.py", 12, True)
    ]
    assert [one.id for one in threads[0].comments] == ["8", "9"]
    host.reply(201, COMMENT).reply(200, on_line).reply(200, on_line).reply(201, COMMENT)
    await client(host).reply_to_thread(NAME, 7, "8", "Done")
    assert host.seen[-1].body == {"text": "Done", "parent": {"id": 8}}
    await client(host).resolve_thread(NAME, 7, "8")
    assert host.seen[-1].body == {"text": "Good", "threadResolved": True, "version": 0}
    await client(host).add_comment(NAME, ItemKind.PULL_REQUEST, 7, "Hi")


async def test_reviews_checks_and_what_there_is_not(host: HostContract) -> None:
    host.reply(200, PULL)
    reviews = await client(host).reviews(NAME, 7)
    assert [(one.author, one.verdict) for one in reviews] == [("Eve", ReviewVerdict.CHANGES_REQUESTED)]
    host.reply(200, changed(PULL, state="MERGED"))
    pull = await client(host).pull_request(NAME, 7)
    host.reply(200, page({"key": "ci", "state": "FAILED", "url": "https://j.example"}))
    checks = await client(host).checks(NAME, pull)
    assert [(one.id, one.name, one.state) for one in checks] == [(None, "ci", CheckState.FAILED)]
    for call in (
        client(host).issue(NAME, 1),
        client(host).add_comment(NAME, ItemKind.ISSUE, 1, "Hi"),
        client(host).check_log(NAME, "1"),
    ):
        with pytest.raises(AppError) as error:
            await call
        assert error.value.code == "git_host_cannot"


async def test_suggested_tasks(host: HostContract) -> None:
    host.reply(200, page(PULL)).reply(200, PULL).reply(200, {"conflicted": False}).reply(200, {"failed": 1})
    tasks = await client(host).suggested_tasks()
    assert [(one.kind, one.number, one.repository) for one in tasks] == [(TaskKind.FAILING_CHECKS, 7, NAME)]
    host.reply(200, page(PULL)).reply(200, PULL).reply(200, {"conflicted": True})
    assert (await client(host).suggested_tasks())[0].kind is TaskKind.MERGE_CONFLICTS


@pytest.mark.parametrize(
    ("status", "said", "code", "words"),
    [
        (401, {"errors": [{"message": "No"}]}, "git_token_refused", "refuses the token"),
        (403, {"errors": [{"message": "You may not"}]}, "git_host_forbidden", "You may not"),
        (404, {"errors": [{"message": "No such repository"}]}, "git_host_not_found", "No such repository"),
        (
            400,
            {"errors": [{"context": "title", "message": "a"}, {"message": "b"}]},
            "git_host_refused",
            "title: a; b",
        ),
        (400, {"errors": "odd"}, "git_host_refused", "refuses this"),
        (400, ["odd"], "git_host_refused", "refuses this"),
        (429, {"errors": []}, "git_rate_limited", "no more calls"),
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
