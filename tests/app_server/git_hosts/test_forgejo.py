"""Tests of the client of Forgejo and Gitea: each call is checked against both OpenAPI documents, and its
answers are read.
"""

from typing import Any

import pytest

from app_server.git_hosts.forgejo.client import forgejo
from app_server.git_hosts.schemas import (
    ItemKind,
    Mergeability,
    NewPullRequest,
    PullRequestChanges,
    PullRequestState,
)
from tests.app_server.git_hosts.forgejo_calls import (
    ADA,
    BRANCH,
    COMMENT,
    COMMIT,
    NAME,
    ORIGIN,
    PULL,
    REPOSITORY,
    Values,
    client,
    failure,
)
from tests.support.forgejo_host import ALSO, Nullable
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

NEW = NewPullRequest(title="Fix the depth", body="Why", head=BRANCH, base="main", is_draft=True)


@pytest.fixture(params=["forgejo-16", "gitea-1.28dev"])
def host(request: pytest.FixtureRequest) -> HostContract:
    return Nullable(f"{request.param}.openapi.json", base="/api/v1", also=ALSO)


def next_link(path: str) -> dict[str, str]:
    return {"link": f'<{ORIGIN}/api/v1{path}>; rel="next",<{ORIGIN}/api/v1/x?page=9>; rel="last"'}


async def test_me(host: HostContract) -> None:
    host.reply(200, ADA)
    me = await client(host).me()
    assert (me.id, me.login, me.name, me.email) == ("7", "ada", None, "ada@git.example")
    assert host.seen[0].headers["authorization"] == "token a-token"


async def test_the_api_address_may_be_below_a_path() -> None:
    host = Nullable("forgejo-16.openapi.json", base="/git/api/v1")
    host.reply(200, REPOSITORY)
    its = client_of(forgejo, host, ORIGIN, api_url=f"{ORIGIN}/git/api/v1")
    assert (await its.repository(NAME)).can_push is True


async def test_lists_follow_the_links(host: HostContract) -> None:
    host.reply(200, [REPOSITORY], next_link("/user/repos?page=2&limit=1")).reply(200, [])
    first = await client(host).repositories(limit=1)
    found = first.items[0]
    assert (found.full_name, found.is_public, found.stars, found.parent) == (NAME, False, 3, None)
    last = await client(host).repositories(page=first.next_page, limit=1)
    assert host.seen[1].query == {"page": "2", "limit": "1"}
    assert last.next_page is None
    host.reply(200, [{"id": 1, "name": "team", "username": "team"}])
    assert (await client(host).organizations(limit=100)).items[0].id == "team"
    assert host.seen[2].query == {"limit": "50"}


async def test_repositories_are_found_by_a_part_of_their_name(host: HostContract) -> None:
    host.reply(200, {"ok": True, "data": [REPOSITORY]})
    assert [one.full_name for one in (await client(host).repositories("harb")).items] == [NAME]
    assert host.seen[0].query == {"q": "harb", "sort": "updated", "order": "desc", "limit": "30"}
    host.reply(200, [REPOSITORY, changed(REPOSITORY, full_name="team/other")])
    assert len((await client(host).repositories("HARB", organization="team")).items) == 1
    assert host.seen[1].values == {"org": "team"}


async def test_branches_are_found_by_any_part_of_their_name(host: HostContract) -> None:
    def branch(name: str, **more: Any) -> Values:
        return {"name": name, "commit": {"id": COMMIT, "timestamp": "2026-11-01T10:00:00Z"}, **more}

    host.reply(200, [branch("main", protected=True)], next_link(f"/repos/{NAME}/branches?page=2&limit=50"))
    host.reply(200, [branch("old-FIX/ä")])
    found = (await client(host).branches(NAME, "fix/Ä")).items
    assert [(one.name, one.commit) for one in found] == [("old-FIX/ä", COMMIT)]
    host.reply(200, [branch("main", protected=True)])
    assert (await client(host).branches(NAME)).items[0].is_protected is True


async def test_files_are_read_by_their_odd_names(host: HostContract) -> None:
    host.reply(200, b"text", {"content-type": "text/plain"})
    assert await client(host).file(NAME, ".slipway/set up#1.sh", BRANCH) == b"text"
    assert (host.seen[0].values["filepath"], host.seen[0].query) == (".slipway/set up#1.sh", {"ref": BRANCH})
    host.reply(404, {"message": "object does not exist"})
    assert await client(host).file(NAME, "none") is None
    host.reply(200, b"x" * (1024 * 1024 + 1))
    assert await client(host).file(NAME, "large") is None


@pytest.mark.parametrize(
    ("permission", "may"),
    [("owner", True), ("admin", True), ("write", True), ("read", False), ("none", False)],
)
async def test_writers_may_push(host: HostContract, permission: str, may: bool) -> None:
    host.reply(200, {"permission": permission, "role_name": permission})
    assert await client(host).may_push(NAME, "ada") is may
    host.reply(404, {"message": "user does not exist"})
    assert await client(host).may_push(NAME, "ghost") is False


async def test_a_draft_is_opened_with_labels_and_reviewers(host: HostContract) -> None:
    other = changed(PULL, head={**PULL["head"], "ref": "other"})
    host.reply(200, [other]).reply(200, [{"id": 1, "name": "bug"}]).reply(201, PULL)
    host.reply(404, {"message": "user does not exist [uid: 0, name: ghost]"})
    new = NEW.model_copy(update={"labels": ("bug", "none"), "reviewers": ("ghost",)})
    opened = await client(host).create_pull_request(NAME, new)
    assert (opened.is_new, opened.pull_request.number, opened.pull_request.is_draft) == (True, 7, True)
    assert host.seen[2].body == {
        "title": "WIP: Fix the depth",
        "head": BRANCH,
        "base": "main",
        "body": "Why",
        "labels": [1],
    }
    assert host.seen[3].body == {"reviewers": ["ghost"]}
    assert opened.left_out[0] == "There is no label none in this repository."
    assert opened.left_out[1].startswith("The reviewers ghost were not asked: git.example has nothing there")


async def test_an_open_pull_request_of_the_branch_is_returned(host: HostContract) -> None:
    host.reply(200, [PULL])
    opened = await client(host).create_pull_request(NAME, NEW)
    assert (opened.is_new, opened.pull_request.number) == (False, 7)
    host.reply(200, []).reply(409, {"message": "pull request already exists for these targets"})
    host.reply(200, [PULL])
    opened = await client(host).create_pull_request(NAME, NEW)
    assert (opened.is_new, opened.pull_request.number) == (False, 7)


async def test_branches_of_forks_are_named_with_their_owner(host: HostContract) -> None:
    # The repository has an open pull request from its own branch with the same name. This is another branch.
    host.reply(200, [PULL]).reply(201, PULL)
    new = NEW.model_copy(update={"head_repository": "ada/harbour"})
    assert (await client(host).create_pull_request(NAME, new)).is_new is True
    assert host.seen[1].body["head"] == f"ada:{BRANCH}"


async def test_archived_repositories_are_told(host: HostContract) -> None:
    host.reply(200, []).reply(423, {"message": "repository is archived"})
    error = await failure(client(host).create_pull_request(NAME, NEW))
    assert (error.code, "archived" in error.detail) == ("git_host_archived", True)


async def test_long_texts_are_cut_with_a_sentence(host: HostContract) -> None:
    host.reply(201, COMMENT).reply(200, COMMENT)
    await client(host).add_comment(NAME, ItemKind.PULL_REQUEST, 7, "ä" * 70_000)
    await client(host).edit_comment(NAME, ItemKind.PULL_REQUEST, 7, "5", "ä" * 70_000)
    assert [len(one.body["body"]) for one in host.seen] == [65_536] * 2
    assert host.seen[0].body["body"].endswith("*The rest was left out: the host takes 65536 characters.*")


@pytest.mark.parametrize(
    ("shown", "state", "mergeability"),
    [
        ({}, PullRequestState.OPEN, Mergeability.CLEAN),
        ({"mergeable": False}, PullRequestState.OPEN, Mergeability.CONFLICTS),
        ({"state": "closed", "mergeable": False}, PullRequestState.CLOSED, Mergeability.UNKNOWN),
        ({"state": "closed", "merged": True}, PullRequestState.MERGED, Mergeability.UNKNOWN),
    ],
)
async def test_states(
    host: HostContract, shown: Values, state: PullRequestState, mergeability: Mergeability
) -> None:
    host.reply(200, changed(PULL, **shown))
    found = await client(host).pull_request(NAME, 7)
    assert (found.state, found.mergeability) == (state, mergeability)


async def test_a_pull_request_whose_fork_and_author_are_gone(host: HostContract) -> None:
    head = {**PULL["head"], "repo": None, "sha": ""}
    host.reply(200, changed(PULL, head=head, user=None, labels=None))
    found = await client(host).pull_request(NAME, 7)
    assert (found.head_repository, found.head_commit, found.author) == (None, None, "ghost")
    assert await client(host).checks(NAME, found) == []


async def test_lists_hold_the_state_that_was_asked_for(host: HostContract) -> None:
    closed, merged = (
        changed(PULL, number=1, state="closed"),
        changed(PULL, number=2, state="closed", merged=True),
    )
    host.reply(200, [closed, merged], next_link(f"/repos/{NAME}/pulls?state=closed&page=2"))
    page = await client(host).pull_requests(NAME, state=PullRequestState.MERGED, head=BRANCH)
    assert [one.number for one in page.items] == [2]
    assert page.next_page is not None
    host.reply(200, [])
    await client(host).pull_requests(NAME, page=page.next_page)
    assert host.seen[1].query == {"state": "closed", "page": "2"}


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        ({"state": PullRequestState.CLOSED}, {"state": "closed"}),
        ({"title": "New"}, {"title": "WIP: New"}),
        ({"is_draft": False}, {"title": "Fix the depth"}),
        ({"title": "New", "is_draft": False, "base": "next"}, {"title": "New", "base": "next"}),
    ],
)
async def test_drafts_are_known_by_their_title(host: HostContract, changes: Values, sent: Values) -> None:
    if "state" not in changes:
        host.reply(200, PULL)
    host.reply(201, PULL)
    await client(host).update_pull_request(NAME, 7, PullRequestChanges(**changes))
    assert host.seen[-1].body == sent
