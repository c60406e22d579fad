"""The client of Azure DevOps: each call checked against its contract, and what is made of its answers."""

import json
from base64 import b64decode
from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.azure_devops.client import AzureDevOps, azure_devops
from app_server.git_hosts.schemas import (
    CheckState,
    ItemKind,
    Mergeability,
    NewPullRequest,
    PullRequest,
    PullRequestChanges,
    PullRequestState,
    ReviewVerdict,
    TaskKind,
)
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

NAME = "acme/My Project/my repo"
COMMIT = "8e0b45049b6253b8984cde9241830d2851168142"
NAMESPACE = "2e9eb7ed-3c0a-47d4-87c1-0ffdd275fd87"
_V = "api-version!"
_THREADS = "/{organization}/{project}/_apis/git/repositories/{repo}/pullRequests/{number}/threads"
ALSO = {
    "GET /{organization}/_apis/connectionData": (_V,),
    "GET /{organization}/_apis/identities": ("searchFilter!", "filterValue!", _V),
    "GET /{organization}/_apis/permissions/{namespace}/{permission}": ("tokens!", _V),
    "GET /{organization}/_apis/accesscontrollists/{namespace}": (
        "token!",
        "descriptors!",
        "includeExtendedInfo",
        _V,
    ),
    "GET /{organization}/_apis/git/repositories": (_V,),
    "GET /{organization}/_apis/git/pullrequests": (
        "searchCriteria.creatorId",
        "searchCriteria.status",
        "$top",
        _V,
    ),
    f"PATCH {_THREADS}/{{thread}}/comments/{{comment}}": ("content!", f"?{_V}"),
    "GET /{organization}/{project}/_apis/build/builds/{build}/timeline": (_V,),
    "GET /{organization}/{project}/_apis/build/builds/{build}/logs/{log}": (_V,),
    "GET /{organization}/{project}/_apis/wit/workitems/{id}": ("$expand", _V),
    "GET /{organization}/{project}/_apis/wit/workItems/{workItemId}/comments": (
        "order",
        "$top",
        "continuationToken",
        _V,
    ),
    "PATCH /{organization}/{project}/_apis/wit/workItems/{number}/comments/{comment}": ("text!", f"?{_V}"),
    "POST /{organization}/_apis/wit/wiql": ("query!", "?$top", f"?{_V}"),
    "POST /{organization}/_apis/wit/workitemsbatch": ("ids!", "fields", "errorPolicy", f"?{_V}"),
}
ADA: dict[str, Any] = {"id": "a-1", "displayName": "Ada", "uniqueName": "ada@acme.org"}
EVE = changed(ADA, id="e-1", displayName="Eve", uniqueName="eve@acme.org")
IDENTITY: dict[str, Any] = {
    "id": "e-1",
    "descriptor": "claims;eve",
    "providerDisplayName": "Eve",
    "properties": {"Account": {"$type": "System.String", "$value": "eve@acme.org"}},
}
REPOSITORY: dict[str, Any] = {
    "id": "r-1",
    "name": "my repo",
    "project": {"id": "p-1", "name": "My Project", "visibility": "private"},
    "remoteUrl": "https://acme@dev.azure.com/acme/My%20Project/_git/my%20repo",
    "webUrl": "https://dev.azure.com/acme/My%20Project/_git/my%20repo",
    "defaultBranch": "refs/heads/main",
}
PULL: dict[str, Any] = {
    "pullRequestId": 7,
    "repository": REPOSITORY,
    "title": "Fix",
    "description": "Why",
    "status": "active",
    "isDraft": True,
    "sourceRefName": "refs/heads/fix/ä",
    "targetRefName": "refs/heads/main",
    "mergeStatus": "succeeded",
    "createdBy": ADA,
    "lastMergeSourceCommit": {"commitId": COMMIT},
    "labels": [{"id": "l", "name": "bug", "active": True}],
    "reviewers": [changed(EVE, vote=-5), changed(ADA, id="t", uniqueName="team", vote=10, isContainer=True)],
}
NOTE: dict[str, Any] = {
    "id": 1,
    "content": "Good",
    "author": ADA,
    "commentType": "text",
    "publishedDate": "2026-11-01T10:00:00Z",
}
NEW = NewPullRequest(title="Fix", body="Why", head="fix/ä", base="main", is_draft=True)


def items(*found: Any) -> dict[str, Any]:
    return {"count": len(found), "value": list(found)}


@pytest.fixture
def host() -> HostContract:
    return HostContract(
        "azure-devops-7.1.openapi.json", also=ALSO, envelope="value", extra_query=("path", "$format")
    )


def client(host: HostContract, api_url: str | None = None) -> AzureDevOps:
    return client_of(azure_devops, host, "https://dev.azure.com", api_url=api_url)


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
