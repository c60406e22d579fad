"""Tests of the client of Bitbucket Cloud: each call is checked against what Bitbucket accepts."""

import json
from base64 import b64decode
from typing import Any

import pytest

from app_server.core.errors import AppError
from app_server.git_hosts.bitbucket_cloud.client import BitbucketCloud, bitbucket_cloud
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
from tests.support.bitbucket_facts import CLOUD
from tests.support.host_clients import changed, client_of
from tests.support.host_contract import HostContract

NAME = "{8a8f-ws}/my repo"
COMMIT = "8e0b45049b6253b8984cde9241830d2851168142"
NEXT = "https://api.bitbucket.org/2.0/repositories/team?page=opaque%2Bmark"
ADA: dict[str, Any] = {
    "uuid": "{ada}",
    "account_id": "557058:ada",
    "nickname": "ada",
    "display_name": "Ada L",
    "links": {"avatar": {"href": "https://a/ada.png"}},
}
EVE = changed(ADA, uuid="{eve}", account_id="557058:eve", nickname="eve", display_name="Eve")
REPOSITORY: dict[str, Any] = {
    "uuid": "{r1}",
    "full_name": "team/repo",
    "is_private": True,
    "mainbranch": {"name": "main"},
    "owner": {"type": "team"},
    "updated_on": "2026-11-01T10:00:00+00:00",
    "links": {"html": {"href": "https://bitbucket.org/team/repo"}},
}
PULL: dict[str, Any] = {
    "id": 7,
    "title": "Fix",
    "description": "Why",
    "state": "OPEN",
    "draft": True,
    "author": ADA,
    "reviewers": [EVE],
    "source": {"branch": {"name": "fix/a"}, "commit": {"hash": COMMIT}, "repository": {"full_name": NAME}},
    "destination": {"branch": {"name": "main"}, "repository": {"full_name": "team/repo"}},
    "links": {"html": {"href": "https://bitbucket.org/team/repo/pull-requests/7"}},
    "updated_on": "2026-11-01T10:00:00+00:00",
}
COMMENT: dict[str, Any] = {
    "id": 5,
    "content": {"raw": "Good"},
    "user": ADA,
    "created_on": "2026-11-01T10:00:00+00:00",
    "links": {"html": {"href": "https://bitbucket.org/c/5"}},
}
NEW = NewPullRequest(title="Fix", body="Why", head="fix/a", base="main", is_draft=True)


def values(*found: Any, next_page: str | None = None) -> dict[str, Any]:
    return {"values": list(found), **({"next": next_page} if next_page else {})}


@pytest.fixture
def host() -> HostContract:
    return HostContract(None, base="/2.0", also=CLOUD)


def client(host: HostContract, username: str | None = "ada@example.org") -> BitbucketCloud:
    return client_of(bitbucket_cloud, host, "https://bitbucket.org", username=username)


async def test_api_tokens_go_with_the_address_of_their_owner(host: HostContract) -> None:
    host.reply(200, ADA, {"x-oauth-scopes": "account, repository:write"})
    host.reply(200, values({"email": "b@x.org"}, {"email": "a@x.org", "is_primary": True}))
    me = await client(host).me()
    assert (me.id, me.login, me.email, me.scopes) == (
        "{ada}",
        "ada",
        "a@x.org",
        ("account", "repository:write"),
    )
    kind, _, secret = host.seen[0].headers["authorization"].partition(" ")
    assert (kind, b64decode(secret)) == ("Basic", b"ada@example.org:a-token")
    host.reply(200, ADA).reply(403, {"type": "error", "error": {"message": "No scope"}})
    assert (await client(host, None).me()).email is None
    assert host.seen[-1].headers["authorization"] == "Bearer a-token"


async def test_repositories_of_all_workspaces_come_together(host: HostContract) -> None:
    host.reply(200, values({"workspace": {"slug": "team"}}, {"workspace": {"slug": "ada"}}))
    newer = changed(REPOSITORY, full_name="ada/own", updated_on="2026-11-02T10:00:00+00:00")
    host.reply(200, values(REPOSITORY, next_page=NEXT)).reply(200, values(newer))
    first = await client(host).repositories('my "repo"', limit=30)
    assert [one.full_name for one in first.items] == ["ada/own", "team/repo"]
    assert first.items[1].clone_url == "https://bitbucket.org/team/repo.git"
    assert first.next_page == NEXT
    assert host.seen[1].query == {
        "role": "member",
        "q": 'name~"my \\"repo\\""',
        "sort": "-updated_on",
        "pagelen": "15",
    }
    host.reply(200, values(REPOSITORY))
    last = await client(host).repositories(page=first.next_page)
    assert (host.seen[-1].query, last.next_page) == ({"page": "opaque+mark"}, None)
    host.reply(200, values(REPOSITORY))
    await client(host).repositories(organization="{8a8f-ws}")
    assert host.seen[-1].values == {"workspace": "{8a8f-ws}"}


async def test_the_next_page_stays_at_the_host(host: HostContract) -> None:
    with pytest.raises(AppError) as error:
        await client(host).branches("team/repo", page="https://evil.example/2.0/repositories")
    assert error.value.code == "git_host_failed"
    assert host.seen == []


async def test_one_repository_and_its_branches(host: HostContract) -> None:
    host.reply(200, changed(REPOSITORY, parent={"full_name": "up/repo"}, is_private=False))
    found = await client(host).repository(NAME)
    assert host.seen[0].values == {"workspace": "{8a8f-ws}", "repo_slug": "my repo"}
    assert (found.parent, found.is_public, found.default_branch) == ("up/repo", True, "main")
    host.reply(200, values({"name": "fix/ä", "target": {"hash": COMMIT, "date": "2026-11-01T10:00:00Z"}}))
    branches = await client(host).branches(NAME, "fix/")
    assert (branches.items[0].name, branches.items[0].commit) == ("fix/ä", COMMIT)


async def test_a_file_of_a_branch_with_a_slash_is_read_at_its_commit(host: HostContract) -> None:
    host.reply(200, values({"name": "fix/a", "target": {"hash": COMMIT}}))
    host.reply(200, b"text", {"content-type": "text/plain"})
    assert await client(host).file("team/repo", ".slipway/set up.sh", "fix/a") == b"text"
    assert host.seen[0].query == {"q": 'name="fix/a"'}
    assert host.seen[1].values["commit"] == COMMIT
    assert host.seen[1].values["path"] == ".slipway/set up.sh"
    host.reply(200, REPOSITORY).reply(200, values()).reply(200, values())
    assert await client(host).file("team/repo", "a") is None
    host.reply(404, {"type": "error", "error": {"message": "No such file"}})
    assert await client(host).file("team/repo", "a", COMMIT) is None


@pytest.mark.parametrize(("kind", "expected"), [("commit_file", b"{}"), ("commit_directory", None)])
async def test_directories_are_no_files(host: HostContract, kind: str, expected: bytes | None) -> None:
    host.reply(200, b"{}", {"content-type": "application/json"}).reply(200, {"type": kind})
    assert await client(host).file("team/repo", "package.json", COMMIT) == expected


@pytest.mark.parametrize(
    ("login", "found", "may"),
    [
        ("557058:ada", [{"permission": "write", "user": ADA}], True),
        ("{ada}", [{"permission": "read", "user": ADA}], False),
        ("557058:eve", [{"permission": "admin", "user": EVE}], True),
        ("557058:eve", [{"permission": "admin", "user": ADA}], False),
        ("eve", [], False),
    ],
)
async def test_who_may_push(host: HostContract, login: str, found: list[Any], may: bool) -> None:
    host.reply(200, ADA).reply(200, values(*found))
    assert await client(host).may_push("team/repo", login) is may


async def test_a_draft_is_opened_and_says_what_was_left_out(host: HostContract) -> None:
    host.reply(200, values()).reply(200, ADA)
    host.reply(200, values({"user": ADA}, {"user": EVE})).reply(201, PULL)
    wanted = {"reviewers": ("eve", "ada", "ghost"), "labels": ("bug",)}
    opened = await client(host).create_pull_request("team/repo", NEW.model_copy(update=wanted))
    assert host.seen[-1].body == {
        "title": "Fix",
        "description": "Why",
        "source": {"branch": {"name": "fix/a"}, "repository": {"full_name": "team/repo"}},
        "destination": {"branch": {"name": "main"}},
        "reviewers": [{"uuid": "{eve}"}],
        "draft": True,
    }
    assert [sentence.split()[0] for sentence in opened.left_out] == ["Authors", "The", "Bitbucket"]
    assert (opened.is_new, opened.pull_request.reviewers) == (True, ("eve",))


async def test_opening_twice_gives_the_same_one(host: HostContract) -> None:
    host.reply(200, values(PULL))
    new = NEW.model_copy(update={"head_repository": "ada/fork"})
    opened = await client(host).create_pull_request("team/repo", new)
    assert (opened.is_new, opened.pull_request.number) == (False, 7)
    assert 'source.repository.full_name="ada/fork"' in host.seen[0].query["q"]
    host.reply(200, values()).reply(400, {"type": "error", "error": {"message": "exists"}})
    host.reply(200, values(PULL))
    assert not (await client(host).create_pull_request("team/repo", NEW)).is_new


async def test_reviewers_that_are_refused_do_not_stop_it(host: HostContract) -> None:
    host.reply(200, values()).reply(200, ADA).reply(200, values({"user": EVE}))
    fields = {"reviewers": ["eve has no access"]}
    host.reply(400, {"type": "error", "error": {"message": "reviewers: bad", "fields": fields}})
    host.reply(200, values()).reply(201, PULL)
    new = NEW.model_copy(update={"reviewers": ("eve",)})
    opened = await client(host).create_pull_request("team/repo", new)
    assert host.seen[-1].body["reviewers"] == []
    assert "eve has no access" in opened.left_out[0]


@pytest.mark.parametrize(
    ("mergeable", "conflicts", "expected"),
    [
        (True, [], Mergeability.CLEAN),
        (False, [], Mergeability.BLOCKED),
        (None, [], Mergeability.UNKNOWN),
        (False, [{"path": "a"}], Mergeability.CONFLICTS),
    ],
)
async def test_mergeability(
    host: HostContract, mergeable: bool | None, conflicts: list[Any], expected: Mergeability
) -> None:
    host.reply(200, changed(PULL, mergeable=mergeable)).reply(200, values(*conflicts))
    assert (await client(host).pull_request("team/repo", 7)).mergeability is expected


async def test_pull_requests_by_state_and_branch(host: HostContract) -> None:
    gone = changed(
        PULL, state="SUPERSEDED", source={"branch": {"name": "x"}, "repository": None, "commit": None}
    )
    host.reply(200, values(gone))
    found = await client(host).pull_requests("team/repo", state=PullRequestState.CLOSED, head="x", limit=100)
    assert (found.items[0].state, found.items[0].head_repository) == (PullRequestState.CLOSED, None)
    assert host.seen[0].query["pagelen"] == "50"
    assert '(state="DECLINED" OR state="SUPERSEDED") AND source.branch.name="x"' in host.seen[0].query["q"]


async def test_changes_keep_the_title_and_the_reviewers(host: HostContract) -> None:
    host.reply(200, PULL).reply(200, changed(PULL, draft=False)).reply(200, changed(PULL, state="DECLINED"))
    changes = PullRequestChanges(body="New", is_draft=False, base="dev", state=PullRequestState.CLOSED)
    assert (await client(host).update_pull_request("team/repo", 7, changes)).state is PullRequestState.CLOSED
    assert host.seen[1].body == {
        "title": "Fix",
        "reviewers": [{"uuid": "{eve}"}],
        "description": "New",
        "destination": {"branch": {"name": "dev"}},
        "draft": False,
    }
    host.reply(200, changed(PULL, state="DECLINED"))
    with pytest.raises(AppError) as error:
        await client(host).update_pull_request(
            "team/repo", 7, PullRequestChanges(state=PullRequestState.OPEN)
        )
    assert error.value.code == "git_host_cannot"


async def test_comments_and_threads(host: HostContract) -> None:
    on_line = changed(COMMENT, id=8, inline={"path": "src/ä.py", "to": 12})
    answer = changed(COMMENT, id=9, parent={"id": 8}, inline={"path": "src/ä.py", "to": 12})
    deeper = changed(COMMENT, id=10, parent={"id": 9})
    rows = (COMMENT, on_line, answer, deeper, changed(COMMENT, id=11, deleted=True))
    host.reply(200, values(COMMENT, on_line, rows[4]))
    comments = await client(host).comments("team/repo", ItemKind.PULL_REQUEST, 7)
    assert [one.id for one in comments.items] == ["5"]
    host.reply(200, values(*rows))
    threads = await client(host).review_threads("team/repo", 7)
    assert [(one.id, one.path, one.line, one.is_resolved) for one in threads] == [
        ("8", "src/ä.py", 12, False)
    ]
    assert [one.id for one in threads[0].comments] == ["8", "9", "10"]
    host.reply(201, COMMENT).reply(200, {}).reply(201, COMMENT).reply(200, COMMENT)
    await client(host).reply_to_thread("team/repo", 7, "8", "Done")
    assert host.seen[-1].body == {"content": {"raw": "Done"}, "parent": {"id": 8}}
    await client(host).resolve_thread("team/repo", 7, "8")
    await client(host).add_comment("team/repo", ItemKind.PULL_REQUEST, 7, "x" * 40_000)
    assert len(host.seen[-1].body["content"]["raw"]) == 32_768
    await client(host).edit_comment("team/repo", ItemKind.PULL_REQUEST, 7, "5", "New")
    assert host.is_used_up


async def test_reviews(host: HostContract) -> None:
    participants = [
        {"user": EVE, "state": "changes_requested"},
        {"user": ADA, "state": "approved"},
        {"user": changed(ADA, nickname="bob"), "state": None},
    ]
    host.reply(200, changed(PULL, participants=participants))
    found = [(one.author, one.verdict) for one in await client(host).reviews("team/repo", 7)]
    assert found == [("eve", ReviewVerdict.CHANGES_REQUESTED), ("ada", ReviewVerdict.APPROVED)]


async def test_there_are_no_issues(host: HostContract) -> None:
    for call in (
        client(host).issue("team/repo", 1),
        client(host).comments("team/repo", ItemKind.ISSUE, 1),
        client(host).add_comment("team/repo", ItemKind.ISSUE, 1, "Hi"),
    ):
        with pytest.raises(AppError) as error:
            await call
        assert error.value.code == "git_host_cannot"


async def test_checks_and_the_logs_of_steps_that_failed(host: HostContract) -> None:
    host.reply(200, PULL).reply(404, {"type": "error", "error": {"message": "none"}})
    pull = await client(host).pull_request("team/repo", 7)
    result = "https://bitbucket.org/team/repo/pipelines/results/12"
    statuses = [
        {"key": "1", "name": "Pipeline", "state": "FAILED", "url": result},
        {"key": "jenkins", "state": "INPROGRESS", "url": "https://j.example"},
    ]
    host.reply(200, values(*statuses))
    checks = await client(host).checks("team/repo", pull)
    assert [(one.id, one.name, one.state) for one in checks] == [
        ("12", "Pipeline", CheckState.FAILED),
        (None, "jenkins", CheckState.PENDING),
    ]
    steps = [
        {"uuid": "{s1}", "state": {"result": {"name": "SUCCESSFUL"}}},
        {"uuid": "{s2}", "state": {"result": {"name": "FAILED"}}},
    ]
    host.reply(200, values(*steps)).reply(200, b"AssertionError\n", {"content-type": "text/plain"})
    assert await client(host).check_log("team/repo", "12") == "AssertionError\n"
    assert host.seen[-1].values["step"] == "{s2}"


async def test_suggested_tasks(host: HostContract) -> None:
    host.reply(200, ADA).reply(200, values({"workspace": {"slug": "team"}}))
    host.reply(200, values(changed(PULL, id=1)))
    host.reply(200, changed(PULL, id=1)).reply(200, values())
    host.reply(200, values({"key": "1", "state": "FAILED", "url": None}))
    tasks = await client(host).suggested_tasks()
    assert [(one.kind, one.number, one.repository) for one in tasks] == [
        (TaskKind.FAILING_CHECKS, 1, "team/repo")
    ]
    assert host.seen[2].values == {"workspace": "team", "uuid": "{ada}"}


@pytest.mark.parametrize(
    ("status", "said", "code", "words"),
    [
        (401, {"type": "error", "error": {"message": "Bad token"}}, "git_token_refused", "refuses the token"),
        (404, {"type": "error", "error": {"message": "Not here"}}, "git_host_not_found", "Not here"),
        (410, {"type": "error", "error": {"message": "Gone"}}, "git_host_feature_off", "Gone"),
        (
            400,
            {"error": {"message": "Bad", "fields": {"title": ["too long"]}}},
            "git_host_refused",
            "title: too long",
        ),
        (400, {"error": "odd"}, "git_host_refused", "odd"),
        (400, ["odd"], "git_host_refused", "refuses this"),
        (429, {"type": "error", "error": {"message": "Slow"}}, "git_rate_limited", "no more calls"),
    ],
)
async def test_errors_have_the_words_of_the_host(
    host: HostContract, status: int, said: Any, code: str, words: str
) -> None:
    host.reply(status, json.dumps(said).encode(), {"content-type": "application/json"})
    with pytest.raises(AppError) as error:
        await client(host).repository("team/repo")
    assert error.value.code == code
    assert words in error.value.detail


async def test_a_missing_scope_is_named(host: HostContract) -> None:
    detail = {"required": ["pullrequest:write"], "granted": ["repository"]}
    host.reply(403, {"type": "error", "error": {"message": "Lacks privilege scopes", "detail": detail}})
    with pytest.raises(AppError) as error:
        await client(host).repository("team/repo")
    assert error.value.fix == "The token needs: pullrequest:write."
