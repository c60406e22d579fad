"""Tests of clone and fetch through the git proxy, with real git and a real git host."""

import asyncio
import gzip
import os
import signal
from datetime import timedelta

import httpx
import pytest

from app_server.core.database import now
from app_server.git_proxy.pkt_line import FLUSH, encode
from app_server.sandbox_records.models import Sandbox as SandboxRow
from tests.app_server.conftest import App
from tests.app_server.git_proxy.conftest import CANARY, KEY, Sandbox, until
from tests.app_server.teams.test_teams import TEAMS, new_team
from tests.support.git_host import GitHost, git


async def test_a_private_repository_is_cloned_and_fetched(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.clone()
    assert (sandbox.work / "README.md").read_text() == "harbour"
    bare = host.bare("team/harbour")
    tree = git(bare, "rev-parse", "main^{tree}")
    later = git(bare, "commit-tree", "-m", "Later", "-p", "main", tree)
    git(bare, "update-ref", "refs/heads/main", later)
    assert (await sandbox.git("pull", "-q", "--ff-only")).status == 0
    assert (await sandbox.git("rev-parse", "HEAD")).output.strip() == later
    protocols = {asked.headers["Git-Protocol"] for asked in host.requests if "upload-pack" in asked.path}
    assert protocols == {"version=2"}


@pytest.mark.parametrize(
    "options", [("--depth=1",), ("--filter=blob:none",), ("-c", "protocol.version=0"), ("--bare",)]
)
async def test_shallow_and_partial_clones_and_the_older_protocol_work(
    sandbox: Sandbox, options: tuple[str, ...]
) -> None:
    done = await sandbox.git("clone", *options, sandbox.url(), "copy", directory=sandbox.directory)
    assert done.status == 0, done.output


async def test_requests_may_be_packed(app: App, sandbox: Sandbox) -> None:
    wanted = encode(b"command=ls-refs\n") + b"0001" + FLUSH
    headers = {"X-Session-API-Key": KEY, "Git-Protocol": "version=2", "Content-Encoding": "gzip"}
    async with httpx.AsyncClient(headers=headers) as client:
        reply = await client.post(f"{sandbox.url()}/git-upload-pack", content=gzip.compress(wanted))
    assert b"refs/heads/main" in reply.content


async def test_other_repositories_are_refused_in_words(sandbox: Sandbox, host: GitHost) -> None:
    done = await sandbox.git("ls-remote", sandbox.url("team/other"), directory=sandbox.directory)
    assert done.status != 0
    assert "remote error: From here, git reaches the conversation's own repository only" in done.output
    assert "/team/harbour)" in done.output
    assert host.requests == []


@pytest.mark.parametrize("key", ["another-key", "revoked"])
async def test_without_the_key_nothing_is_there(sandbox: Sandbox, host: GitHost, key: str) -> None:
    sandbox.key = key
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert "remote error: The key of this sandbox is wrong" in done.output
    assert host.requests == []


async def test_an_expired_key_is_explained(app: App, sandbox: Sandbox, host: GitHost) -> None:
    async with app.database.session() as session:
        row = await session.get_one(SandboxRow, sandbox.id)
        row.session_key_expires_at = now() - timedelta(seconds=1)
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert "remote error: This session key has expired." in done.output
    assert host.requests == []


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "does not accept the user's token. The user can renew it under Settings, Git hosts."),
        (403, "does not let the user's token read"),
        (404, "has no repository"),
        (429, "has had too many requests"),
        (500, "failed (HTTP 500)"),
    ],
)
async def test_what_the_host_refuses_is_explained(
    sandbox: Sandbox, host: GitHost, status: int, words: str
) -> None:
    host.statuses["/team/harbour"] = status
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert done.status != 0
    assert words in done.output
    assert CANARY not in done.output


async def test_without_a_token_the_user_is_told_where_to_add_one(sandbox: Sandbox, host: GitHost) -> None:
    await sandbox.allow(token="expired-token")
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert "does not accept the user's token" in done.output
    host.tokens.clear()
    assert (await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)).status == 0


async def test_the_dumb_protocol_is_not_spoken(sandbox: Sandbox) -> None:
    async with httpx.AsyncClient(headers={"X-Session-API-Key": KEY}) as client:
        for path in ("info/refs", "info/refs?service=git-archive", "HEAD", "objects/info/packs"):
            reply = await client.get(f"{sandbox.url()}/{path}")
            assert reply.status_code in {403, 404}


async def test_a_redirect_to_another_host_gets_no_token(sandbox: Sandbox, host: GitHost) -> None:
    with GitHost(sandbox.directory / "elsewhere") as elsewhere:
        elsewhere.make("team/harbour")
        host.redirects["/team/harbour.git"] = elsewhere.url("team/harbour")
        done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
        assert done.status != 0
        assert "redirects to another address" in done.output
        assert elsewhere.requests == []


async def test_a_repository_that_has_moved_on_its_host_is_followed(sandbox: Sandbox, host: GitHost) -> None:
    host.make("team/pier")
    host.redirects["/team/harbour.git"] = "/team/pier.git"
    await sandbox.clone()
    assert (sandbox.work / "README.md").exists()


async def test_a_redirect_does_not_lead_to_a_repository_of_a_team_that_the_user_is_not_in(
    sandbox: Sandbox, host: GitHost, client: httpx.AsyncClient
) -> None:
    host.make("team/pier")
    host.redirects["/team/harbour.git"] = "/team/pier.git"
    team = await new_team(client, "Core")
    rules = {"repositories": ["127.0.0.1/team/pier"], "members_only": True}
    (await client.put(f"{TEAMS}/{team}/repositories", json=rules)).raise_for_status()
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert done.status != 0
    assert "belongs to the team 'Core'" in done.output


async def test_a_sign_in_page_is_no_repository(sandbox: Sandbox, host: GitHost) -> None:
    host.redirects["/team/harbour.git/info/refs"] = "/team/other.git/HEAD"
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert "redirects to a page that is not a git repository" in done.output


async def test_a_host_that_breaks_off_fails_the_fetch_and_nothing_hangs(
    sandbox: Sandbox, host: GitHost
) -> None:
    _grow(host)
    host.cut_after = 500_000
    done = await sandbox.git("clone", sandbox.url(), "copy", directory=sandbox.directory)
    assert done.status != 0
    assert not (sandbox.directory / "copy").exists()


async def test_a_client_that_is_killed_ends_the_call_to_the_host(sandbox: Sandbox, host: GitHost) -> None:
    _grow(host)
    process = await sandbox.start_git("clone", sandbox.url(), "copy", directory=sandbox.directory)
    await until(lambda: sum(asked.path.endswith("/git-upload-pack") for asked in host.requests) == 2)
    os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()
    # Each request has ended at the git host, so no connection is left open there.
    for _ in range(len(host.requests)):
        assert await asyncio.to_thread(host.finished.acquire, timeout=60)


def _grow(host: GitHost) -> None:
    """Commits a file of 20 MB that cannot be compressed to main of team/harbour at the git host."""
    bare = host.bare("team/harbour")
    blob = host.blob(bare, os.urandom(20_000_000))
    tree = git(bare, "mktree", stdin=f"100644 blob {blob}\tlarge.bin\n")
    git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", "-m", "Grow", "-p", "main", tree))
