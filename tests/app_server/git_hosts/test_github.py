"""Tests of the client of GitHub: each call is checked against GitHub's OpenAPI document, and its answers are
read.
"""

from datetime import UTC, datetime

import pytest

from app_server.git_hosts.schemas import (
    ItemKind,
    Mergeability,
    NewPullRequest,
    OwnerKind,
    PullRequestChanges,
    PullRequestState,
)
from tests.app_server.git_hosts.github_calls import (
    API,
    NAME,
    Host,
    Values,
    client_of,
    failure,
    next_link,
    pull,
)

ODD_BRANCH = "fix/ä depth#1"


NEW = NewPullRequest(title="Fix the depth", body="Why", head=ODD_BRANCH, base="main")


JSON = {"content-type": "application/json; charset=utf-8"}


RAW = {"content-type": "application/vnd.github.raw+json; charset=utf-8"}


def invalid(message: str = "Validation Failed", inner: str | None = None, field: str | None = None) -> Values:
    """Returns the body of an answer of GitHub with status 422.

    message: the main message.
    inner: the message of an error in the list `errors`.
    field: the invalid field that the list `errors` names.
    """
    errors: list[Values] = []
    if inner:
        errors = [{"resource": "PullRequest", "code": "custom", "message": inner}]
    if field:
        errors = [{"resource": "PullRequest", "code": "invalid", "field": field}]
    return {"message": message, "errors": errors, "documentation_url": "https://docs.github.com/rest"}


@pytest.fixture
def host() -> Host:
    return Host()


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


async def test_an_empty_repository_has_no_branches(host: Host) -> None:
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
    # GitHub's document does not allow null for `user` and `repo`, but GitHub sends it.
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
