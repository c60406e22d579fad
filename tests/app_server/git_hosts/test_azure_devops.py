"""Tests of the client of Azure DevOps: each call is checked against an OpenAPI document, and its answers are
read.
"""

from base64 import b64decode

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.azure_devops.client import azure_devops
from app_server.git_hosts.schemas import (
    Mergeability,
    NewPullRequest,
    PullRequestChanges,
    PullRequestState,
)
from tests.app_server.git_hosts.azure_devops_calls import (
    ALSO,
    COMMIT,
    IDENTITY,
    NAME,
    PULL,
    REPOSITORY,
    client,
    items,
)
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

NAMESPACE = "2e9eb7ed-3c0a-47d4-87c1-0ffdd275fd87"


NEW = NewPullRequest(title="Fix", body="Why", head="fix/ä", base="main", is_draft=True)


@pytest.fixture
def host() -> HostContract:
    return HostContract(
        "azure-devops-7.1.openapi.json", also=ALSO, envelope="value", extra_query=("path", "$format")
    )


async def test_me_by_profile_or_in_the_one_organization(host: HostContract) -> None:
    host.reply(200, {"id": "p", "displayName": "Ada", "emailAddress": "ada@acme.org"})
    me = await client(host).me()
    assert (me.login, me.name, me.email) == ("ada@acme.org", "Ada", "ada@acme.org")
    assert b64decode(host.seen[0].headers["authorization"].partition(" ")[2]) == b":a-token"
    host.reply(200, {"authenticatedUser": IDENTITY})
    me = await client(host, "https://dev.azure.com/acme/").me()
    assert (me.id, me.login) == ("e-1", "eve@acme.org")
    assert host.seen[1].values == {"organization": "acme"}
    host.reply(200, {"authenticatedUser": {"id": "x", "providerDisplayName": "Anonymous"}})
    with pytest.raises(AppError) as error:
        await client(host, "https://dev.azure.com/acme").me()
    assert error.value.code == "git_token_refused"


async def test_a_page_for_signing_in_means_that_the_token_is_refused(host: HostContract) -> None:
    page = b"<html>Sign in</html>"
    for call in (client(host).me(), client(host).repository(NAME), client(host).file(NAME, "README.md")):
        host.reply(203, page, {"content-type": "text/html"})
        with pytest.raises(AppError) as error:
            await call
        assert error.value.code == "git_token_refused"
        assert error.value.fix


@pytest.mark.parametrize(
    ("origin", "api_url", "path"),
    [
        ("https://acme.visualstudio.com", None, "/acme/My%20Project/"),
        ("https://tfs.example", "https://tfs.example/tfs/Main", "/tfs/Main/My%20Project/"),
    ],
)
async def test_old_addresses_and_servers(origin: str, api_url: str | None, path: str) -> None:
    base = path.removesuffix("/My%20Project/").rpartition("/")[0]
    host = HostContract("azure-devops-7.1.openapi.json", base=base, also=ALSO, envelope="value")
    host.reply(200, REPOSITORY)
    found = await client_of(azure_devops, host, origin, api_url=api_url).repository("My Project/my repo")
    assert found.full_name.endswith("/My Project/my repo")
    assert host.seen[0].values["organization"] == path.split("/")[-3]


async def test_repositories_of_all_organizations(host: HostContract) -> None:
    other = changed(REPOSITORY, id="r-2", name="other")
    host.reply(200, {"id": "p"}).reply(200, items({"accountId": "1", "accountName": "acme"}))
    host.reply(200, items(other, REPOSITORY, changed(other, name="off", isDisabled=True)))
    first = await client(host).repositories(limit=1)
    assert [one.full_name for one in first.items] == [NAME]
    assert first.items[0].clone_url == "https://dev.azure.com/acme/My%20Project/_git/my%20repo"
    assert (first.items[0].default_branch, first.next_page) == ("main", "1")
    host.reply(200, items(other, REPOSITORY))
    last = await client(host).repositories(organization="acme", page="1", limit=1)
    assert ([one.full_name for one in last.items], last.next_page) == (["acme/My Project/other"], None)
    host.reply(200, items(other, REPOSITORY))
    found = await client(host).repositories("MY R", organization="acme")
    assert [one.id for one in found.items] == ["r-1"]
    assert (await client(host, "https://dev.azure.com/acme").organizations()).items[0].id == "acme"


async def test_names_are_quoted_and_whole(host: HostContract) -> None:
    host.reply(200, changed(REPOSITORY, parentRepository={"name": "up", "project": {"name": "P"}}))
    assert (await client(host).repository(NAME)).parent == "acme/P/up"
    assert host.seen[0].values == {"organization": "acme", "project": "My Project", "repositoryId": "my repo"}
    assert host.seen[0].query == {"api-version": "7.1"}
    with pytest.raises(AppError) as error:
        await client(host).repository("project/repo")
    assert error.value.code == "git_host_not_found"


async def test_branches_go_on_with_the_token_of_the_host(host: HostContract) -> None:
    row = {"name": "refs/heads/fix/ä", "objectId": COMMIT, "isLocked": True}
    host.reply(200, items(row), {"x-ms-continuationtoken": "abc/1"}).reply(200, items())
    first = await client(host).branches(NAME, "fix", limit=1)
    assert (first.items[0].name, first.items[0].is_protected, first.next_page) == ("fix/ä", True, "abc/1")
    last = await client(host).branches(NAME, "fix", limit=1, page=first.next_page)
    assert (host.seen[1].query["continuationToken"], last.next_page) == ("abc/1", None)


async def test_files(host: HostContract) -> None:
    host.reply(200, b"text", {"content-type": "application/octet-stream"})
    assert await client(host).file(NAME, ".slipway/set up.sh", "fix/ä") == b"text"
    query = host.seen[0].query
    assert (query["path"], query["versionDescriptor.version"]) == ("/.slipway/set up.sh", "fix/ä")
    assert query["versionDescriptor.versionType"] == "branch"
    host.reply(404, {"message": "TF401174"}).reply(200, b"tag", {"content-type": "application/octet-stream"})
    assert await client(host).file(NAME, "a", "v1") == b"tag"
    host.reply(404, {"message": "TF401174"})
    assert await client(host).file(NAME, "a") is None


@pytest.mark.parametrize(
    ("info", "may"),
    [
        ({"effectiveAllow": 6}, True),
        ({"effectiveAllow": 2}, False),
        ({"effectiveAllow": 6, "effectiveDeny": 4}, False),
        (None, False),
    ],
)
async def test_who_may_push(host: HostContract, info: dict[str, int] | None, may: bool) -> None:
    host.reply(200, items(IDENTITY)).reply(200, REPOSITORY).reply(200, {"authenticatedUser": {"id": "a-1"}})
    host.reply(200, items({"acesDictionary": {"claims;eve": {"allow": 6, "extendedInfo": info}}}))
    assert await client(host).may_push(NAME, "Eve@acme.org") is may
    assert host.seen[-1].query["token"] == "repoV2/p-1/r-1"
    assert host.seen[-1].values["namespace"] == NAMESPACE


async def test_whether_the_user_may_push(host: HostContract) -> None:
    host.reply(200, items(IDENTITY)).reply(200, REPOSITORY).reply(200, {"authenticatedUser": {"id": "e-1"}})
    host.reply(200, items(True))
    assert await client(host).may_push(NAME, "eve@acme.org") is True
    host.reply(200, items(IDENTITY, IDENTITY))
    assert await client(host).may_push(NAME, "Eve") is False


async def test_a_draft_is_opened_with_labels_and_reviewers(host: HostContract) -> None:
    host.reply(200, items()).reply(200, items(IDENTITY)).reply(200, items()).reply(200, PULL)
    wanted = {"reviewers": ("eve@acme.org", "ghost"), "labels": ("bug",), "body": "x" * 5000}
    opened = await client(host).create_pull_request(NAME, NEW.model_copy(update=wanted))
    body = host.seen[-1].body
    assert len(body.pop("description")) == 4000
    assert body == {
        "title": "Fix",
        "sourceRefName": "refs/heads/fix/ä",
        "targetRefName": "refs/heads/main",
        "isDraft": True,
        "labels": [{"name": "bug"}],
        "reviewers": [{"id": "e-1"}],
    }
    pull = opened.pull_request
    assert (pull.head, pull.head_repository, pull.head_commit) == ("fix/ä", NAME, COMMIT)
    assert pull.url == "https://dev.azure.com/acme/My%20Project/_git/my%20repo/pullrequest/7"
    assert "ghost" in opened.left_out[0]


async def test_opening_twice_gives_the_same_one(host: HostContract) -> None:
    fork = {"name": "refs/heads/fix/ä", "repository": changed(REPOSITORY, id="f-1", name="fork")}
    host.reply(200, items(changed(PULL, forkSource=fork), PULL))
    assert (await client(host).create_pull_request(NAME, NEW)).pull_request.head_repository == NAME
    host.reply(200, items()).reply(409, {"message": "TF401179: An active pull request exists"})
    host.reply(200, items(PULL))
    assert not (await client(host).create_pull_request(NAME, NEW)).is_new
    host.reply(200, changed(REPOSITORY, id="f-1")).reply(200, items()).reply(
        200, changed(PULL, forkSource=fork)
    )
    new = NEW.model_copy(update={"head_repository": "acme/My Project/fork"})
    opened = await client(host).create_pull_request(NAME, new)
    assert host.seen[-1].body["forkSource"] == {"repository": {"id": "f-1"}}
    assert opened.pull_request.head_repository == "acme/My Project/fork"


@pytest.mark.parametrize(
    ("status", "policies", "expected"),
    [
        ("succeeded", [], Mergeability.CLEAN),
        ("succeeded", [("queued", True)], Mergeability.BLOCKED),
        ("succeeded", [("queued", False), ("approved", True)], Mergeability.CLEAN),
        ("conflicts", None, Mergeability.CONFLICTS),
        ("queued", None, Mergeability.CHECKING),
    ],
)
async def test_mergeability(
    host: HostContract, status: str, policies: list[tuple[str, bool]] | None, expected: Mergeability
) -> None:
    host.reply(200, changed(PULL, mergeStatus=status))
    if policies is not None:
        rows = [
            {"status": said, "configuration": {"isEnabled": True, "isBlocking": blocks}}
            for said, blocks in policies
        ]
        host.reply(200, items(*rows))
    assert (await client(host).pull_request(NAME, 7)).mergeability is expected
    if policies is not None:
        assert host.seen[-1].query["artifactId"] == "vstfs:///CodeReview/CodeReviewId/p-1/7"


async def test_pull_requests_are_counted(host: HostContract) -> None:
    host.reply(200, items(changed(PULL, status="abandoned")))
    found = await client(host).pull_requests(
        NAME, state=PullRequestState.CLOSED, head="fix/ä", page="1", limit=1
    )
    assert (found.items[0].state, found.next_page) == (PullRequestState.CLOSED, "2")
    assert host.seen[0].query["searchCriteria.sourceRefName"] == "refs/heads/fix/ä"
    assert (host.seen[0].query["$skip"], host.seen[0].query["searchCriteria.status"]) == ("1", "abandoned")


async def test_changes_and_the_state_are_two_calls(host: HostContract) -> None:
    abandoned = changed(PULL, status="abandoned")
    host.reply(200, PULL).reply(200, abandoned).reply(200, abandoned)
    changes = PullRequestChanges(title="New", base="dev", is_draft=False, state=PullRequestState.CLOSED)
    assert (await client(host).update_pull_request(NAME, 7, changes)).state is PullRequestState.CLOSED
    assert host.seen[0].body == {"title": "New", "targetRefName": "refs/heads/dev", "isDraft": False}
    assert host.seen[1].body == {"status": "abandoned"}
