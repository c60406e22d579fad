"""Tests of the client of GitLab: each call is checked against GitLab's OpenAPI document, and its answers are
read.
"""

from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.gitlab.client import gitlab
from app_server.git_hosts.schemas import (
    ItemKind,
    Mergeability,
    NewPullRequest,
    PullRequestChanges,
    PullRequestState,
)
from tests.app_server.git_hosts.gitlab_calls import COMMIT, MERGE_REQUEST, NAME, NOTE, PERSON, client
from tests.support.gitlab_host import ALSO
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

PROJECT: dict[str, Any] = {
    "id": 42,
    "path_with_namespace": NAME,
    "http_url_to_repo": "https://gitlab.example/g/s/my-repo.git",
    "web_url": "https://gitlab.example/g/s/my-repo",
    "visibility": "private",
    "default_branch": "main",
    "permissions": {"project_access": None, "group_access": {"access_level": 40}},
    "namespace": {"id": 1, "kind": "group"},
    "star_count": 3,
    "last_activity_at": "2026-11-01T10:00:00.000Z",
}


NEW = NewPullRequest(title="Fix the login", body="Why", head="fix/login", base="main", is_draft=True)


@pytest.fixture
def host() -> HostContract:
    return HostContract("gitlab-from-client-go.openapi.json", base="/api/v4", also=ALSO)


@pytest.mark.parametrize(
    ("token", "header", "value"),
    [("glpat-x", "private-token", "glpat-x"), ("0123abcd", "authorization", "Bearer 0123abcd")],
)
async def test_personal_tokens_and_tokens_of_oauth_have_their_headers(
    host: HostContract, token: str, header: str, value: str
) -> None:
    host.reply(200, PROJECT)
    assert (await client(host, token).repository(NAME)).full_name == NAME
    assert host.seen[0].headers[header] == value
    assert host.seen[0].values["id"] == NAME


async def test_the_api_address_decides_where_calls_go() -> None:
    host = HostContract("gitlab-from-client-go.openapi.json", base="/git/api/v4", also=ALSO)
    host.reply(201, NOTE)
    its = client_of(gitlab, host, "https://x.example", api_url="https://x.example/git/api/v4/")
    comment = await its.add_comment(NAME, ItemKind.ISSUE, 3, "Hi")
    assert comment.url == f"https://x.example/git/{NAME}/-/issues/3#note_5"


async def test_me_says_what_the_token_may_do(host: HostContract) -> None:
    host.reply(200, {**PERSON, "email": "ada@example.org"})
    host.reply(200, {"scopes": ["api", "write_repository"], "expires_at": "2026-12-31", "active": True})
    me = await client(host).me()
    assert (me.login, me.email, me.scopes) == ("ada", "ada@example.org", ("api", "write_repository"))
    assert me.expires_at is not None
    assert me.expires_at.isoformat() == "2026-12-31T00:00:00+00:00"
    host.reply(200, PERSON).reply(403, {"message": "403 Forbidden"})
    assert (await client(host).me()).scopes is None


async def test_lists_go_on_at_the_address_that_the_host_gives(host: HostContract) -> None:
    next_page = "https://gitlab.example/api/v4/projects?page=2&per_page=2&membership=true"
    host.reply(200, [PROJECT], {"link": f'<{next_page}>; rel="next"'}).reply(200, [])
    first = await client(host).repositories("my", limit=2)
    assert host.seen[0].query == {
        "search": "my",
        "order_by": "last_activity_at",
        "per_page": "2",
        "membership": "true",
        "search_namespaces": "true",
    }
    found = first.items[0]
    assert (found.can_push, found.is_public, found.owner_kind) == (True, False, "organization")
    last = await client(host).repositories("my", limit=2, page=first.next_page)
    assert host.seen[1].query["page"] == "2"
    assert last.next_page is None
    host.reply(
        200, [changed(PROJECT, permissions={"project_access": {"access_level": 20}, "group_access": None})]
    )
    in_group = await client(host).repositories(organization="grüne gruppe/sub.group")
    assert host.seen[2].values["id"] == "grüne gruppe/sub.group"
    assert in_group.items[0].can_push is False
    host.reply(200, [{"id": 1, "name": "Sub", "full_path": "grüne gruppe/sub.group"}])
    assert (await client(host).organizations()).items[0].id == "grüne gruppe/sub.group"


async def test_branches_and_files_with_odd_names(host: HostContract) -> None:
    host.reply(200, [{"name": "fix/ä", "protected": True, "commit": {"id": COMMIT}}])
    branches = await client(host).branches(NAME, "fix/")
    assert (branches.items[0].name, branches.items[0].is_protected) == ("fix/ä", True)
    host.reply(200, b"text", {"content-type": "text/plain"})
    assert await client(host).file(NAME, ".slipway/set up.sh", "fix/ä") == b"text"
    assert host.seen[1].values["file_path"] == ".slipway/set up.sh"
    assert host.seen[1].query["ref"] == "fix/ä"
    host.reply(404, {"message": "404 File Not Found"})
    assert await client(host).file(NAME, "none") is None


@pytest.mark.parametrize(
    ("members", "may"),
    [
        ([{"id": 7, "access_level": 30, "state": "active"}], True),
        ([{"id": 7, "access_level": 20, "state": "active"}], False),
        ([{"id": 7, "access_level": 40, "state": "blocked"}], False),
        ([], False),
    ],
)
async def test_developers_may_push(host: HostContract, members: list[dict[str, Any]], may: bool) -> None:
    host.reply(200, [changed(PERSON, id=6, username="adam"), PERSON]).reply(200, members)
    assert await client(host).may_push(NAME, "Ada") is may
    assert host.seen[1].query == {"user_ids[]": "7"}


async def test_users_that_the_host_does_not_know_may_not_push(host: HostContract) -> None:
    host.reply(200, [])
    assert await client(host).may_push(NAME, "stranger") is False


async def test_a_draft_is_opened_with_labels_and_reviewers(host: HostContract) -> None:
    host.reply(200, PROJECT).reply(200, [])
    host.reply(200, [PERSON]).reply(200, []).reply(201, MERGE_REQUEST)
    new = NEW.model_copy(update={"labels": ("bug", "ui"), "reviewers": ("ada", "ghost")})
    opened = await client(host).create_pull_request(NAME, new)
    assert host.seen[-1].body == {
        "title": "Draft: Fix the login",
        "description": "Why",
        "source_branch": "fix/login",
        "target_branch": "main",
        "labels": "bug,ui",
        "reviewer_ids": [7],
    }
    assert opened.is_new
    assert (opened.pull_request.title, opened.pull_request.is_draft) == ("Fix the login", True)
    assert opened.left_out == ("gitlab.example has no user ghost, who was left out of the reviewers.",)
    assert host.is_used_up


async def test_opening_twice_gives_the_same_one(host: HostContract) -> None:
    host.reply(200, PROJECT).reply(200, [changed(MERGE_REQUEST, source_project_id=99), MERGE_REQUEST])
    opened = await client(host).create_pull_request(NAME, NEW)
    assert (opened.is_new, opened.pull_request.number) == (False, 7)
    # Another client opens the merge request between the search and the call.
    host.reply(200, PROJECT).reply(200, []).reply(409, {"message": ["Another open merge request exists: !7"]})
    host.reply(200, [MERGE_REQUEST])
    assert not (await client(host).create_pull_request(NAME, NEW)).is_new
    host.reply(200, PROJECT).reply(200, []).reply(409, {"message": ["Something else"]}).reply(200, [])
    with pytest.raises(AppError) as refused:
        await client(host).create_pull_request(NAME, NEW)
    assert (refused.value.code, "Something else" in refused.value.detail) == ("git_host_conflict", True)


async def test_a_fork_opens_it_in_the_original(host: HostContract) -> None:
    host.reply(200, PROJECT).reply(200, changed(PROJECT, id=99)).reply(200, [])
    host.reply(201, changed(MERGE_REQUEST, source_project_id=99))
    new = NEW.model_copy(update={"head_repository": "ada/my-repo"})
    opened = await client(host).create_pull_request(NAME, new)
    assert host.seen[-1].values["id"] == "ada/my-repo"
    assert host.seen[-1].body["target_project_id"] == 42
    assert opened.pull_request.head_repository == "ada/my-repo"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Mergeability.BLOCKED),
        ({"detailed_merge_status": "mergeable"}, Mergeability.CLEAN),
        ({"detailed_merge_status": "checking"}, Mergeability.CHECKING),
        ({"has_conflicts": True}, Mergeability.CONFLICTS),
        ({"detailed_merge_status": None, "merge_status": "cannot_be_merged"}, Mergeability.CONFLICTS),
        ({"state": "merged"}, Mergeability.UNKNOWN),
    ],
)
async def test_mergeability(host: HostContract, changes: dict[str, Any], expected: Mergeability) -> None:
    host.reply(200, changed(MERGE_REQUEST, **changes))
    assert (await client(host).pull_request(NAME, 7)).mergeability is expected


async def test_pull_requests_name_the_forks_that_they_come_from(host: HostContract) -> None:
    rows = [MERGE_REQUEST, changed(MERGE_REQUEST, iid=8, source_project_id=99)]
    gone = changed(MERGE_REQUEST, iid=9, source_project_id=None, state="closed")
    host.reply(200, [*rows, gone]).reply(200, changed(PROJECT, id=99, path_with_namespace="ada/my-repo"))
    found = (await client(host).pull_requests(NAME)).items
    assert [one.head_repository for one in found] == [NAME, "ada/my-repo", None]
    assert found[2].state is PullRequestState.CLOSED
    host.reply(200, rows)
    own = await client(host).pull_requests(NAME, state=PullRequestState.MERGED, head="fix/login")
    assert [one.number for one in own.items] == [7]
    assert host.seen[-1].query == {"state": "merged", "source_branch": "fix/login", "per_page": "30"}


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"title": "New"}, "Draft: New"),
        ({"is_draft": False}, "Fix the login"),
        ({"title": "x" * 400, "is_draft": False}, "x" * 254 + "…"),
    ],
)
async def test_a_new_title_keeps_the_mark_of_drafts(
    host: HostContract, changes: dict[str, Any], title: str
) -> None:
    host.reply(200, MERGE_REQUEST).reply(200, MERGE_REQUEST)
    await client(host).update_pull_request(NAME, 7, PullRequestChanges(**changes))
    assert host.seen[1].body == {"title": title}


async def test_a_pull_request_is_closed_and_gets_another_base(host: HostContract) -> None:
    host.reply(200, changed(MERGE_REQUEST, state="closed"))
    changes = PullRequestChanges(state=PullRequestState.CLOSED, base="dev", body="b")
    assert (await client(host).update_pull_request(NAME, 7, changes)).state is PullRequestState.CLOSED
    assert host.seen[0].body == {"state_event": "close", "target_branch": "dev", "description": "b"}
