"""Tests of Git LFS through the git proxy: with requests of the protocol, and with the real git-lfs if it is
installed.
"""

import hashlib
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from agent_runtime.server.outgoing.git_relay import GitRelay
from agent_runtime.wire import GIT_RELAY_HEADER
from app_server.git.models import PushScope
from app_server.git_proxy import large_files
from tests.app_server.conftest import App
from tests.app_server.git_proxy.conftest import CANARY, KEY, Sandbox
from tests.support.git_host import STORE_KEY, GitHost
from tests.support.requirements import need_program

CONTENT = b"a large file\n" * 1000
OID = hashlib.sha256(CONTENT).hexdigest()
FILE = {"oid": OID, "size": len(CONTENT)}


@pytest.fixture
async def git_lfs(sandbox: Sandbox) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client for the LFS routes of the sandbox's repository."""
    headers = {"X-Session-API-Key": KEY}
    async with httpx.AsyncClient(base_url=f"{sandbox.url()}/info/lfs/", headers=headers) as client:
        yield client


async def asked(git_lfs: httpx.AsyncClient, operation: str, *files: dict[str, Any]) -> httpx.Response:
    question = {"operation": operation, "transfers": ["lfs-standalone-file", "basic"], "objects": list(files)}
    return await git_lfs.post("objects/batch", json=question)


async def test_a_file_is_uploaded_verified_and_downloaded(git_lfs: httpx.AsyncClient, host: GitHost) -> None:
    actions = (await asked(git_lfs, "upload", FILE)).json()["objects"][0]["actions"]
    assert (await git_lfs.put(actions["upload"]["href"], content=CONTENT)).status_code == 200
    assert (await git_lfs.post(actions["verify"]["href"], json=FILE)).status_code == 200
    assert (host.large_files, host.verified) == ({OID: CONTENT}, [OID])
    again = (await asked(git_lfs, "upload", FILE)).json()["objects"][0]
    assert again["actions"] == {}
    missing = {"oid": "0" * 64, "size": 5}
    found = (await asked(git_lfs, "download", FILE, missing)).json()["objects"]
    assert found[1]["error"] == {"code": 404, "message": "Object does not exist"}
    reply = await git_lfs.get(found[0]["actions"]["download"]["href"])
    assert reply.content == CONTENT


async def test_neither_the_token_nor_the_key_of_the_store_reach_the_sandbox(
    git_lfs: httpx.AsyncClient, host: GitHost
) -> None:
    host.large_files[OID] = CONTENT
    reply = await asked(git_lfs, "download", FILE)
    file = await git_lfs.get(reply.json()["objects"][0]["actions"]["download"]["href"])
    seen = reply.text + str(reply.headers) + str(file.headers)
    assert STORE_KEY not in seen
    assert CANARY not in seen
    assert host.origin + "/large" not in seen
    # The file store has its own key. The git token is sent only to the repository.
    assert [bool(one.headers["Authorization"]) for one in host.requests] == [True, False]
    assert "X-Session-API-Key" not in host.requests[1].headers


async def test_addresses_are_those_of_the_outlet(git_lfs: httpx.AsyncClient, host: GitHost) -> None:
    host.large_files[OID] = CONTENT
    for outlet, is_taken in (
        ("http://127.0.0.1:8020/0123456789abcdef", True),
        ("http://evil.example/0123456789abcdef", False),
    ):
        git_lfs.headers[GIT_RELAY_HEADER] = outlet
        reply = (await asked(git_lfs, "download", FILE)).json()
        href = reply["objects"][0]["actions"]["download"]["href"]
        assert href.startswith(f"{outlet}/127.0.0.1:{host.port}/team/harbour") is is_taken


async def test_a_ticket_is_for_its_sandbox_its_action_and_an_hour(
    app: App, git_lfs: httpx.AsyncClient, host: GitHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.large_files[OID] = CONTENT
    href = (await asked(git_lfs, "download", FILE)).json()["objects"][0]["actions"]["download"]["href"]
    before, _, text = href.rpartition("/")
    cipher = app.state["cipher"]
    ticket = large_files.Ticket.model_validate_json(cipher.decrypt(text))
    others = cipher.encrypt(ticket.model_copy(update={"sandbox_id": uuid4()}).model_dump_json())
    for call in (
        git_lfs.put(href, content=CONTENT),
        git_lfs.post(href, json=FILE),
        git_lfs.get(f"{before}/{others}"),
        git_lfs.get(f"{before}/{cipher.encrypt('another secret')}"),
        git_lfs.get(f"{before}/nonsense"),
    ):
        refused = await call
        assert refused.status_code == 403
        assert "is not valid" in refused.json()["message"]
    monkeypatch.setattr("app_server.git_proxy.large_files.time.time", lambda: ticket.ends_at + 1)
    assert (await git_lfs.get(href)).status_code == 403
    assert [one.method for one in host.requests] == ["POST"]


@pytest.mark.parametrize("content", [CONTENT + b"x", CONTENT[:-1], b"y" * len(CONTENT)])
async def test_only_the_stated_file_is_taken(
    git_lfs: httpx.AsyncClient, host: GitHost, content: bytes
) -> None:
    actions = (await asked(git_lfs, "upload", FILE)).json()["objects"][0]["actions"]
    refused = await git_lfs.put(actions["upload"]["href"], content=content)
    assert refused.status_code == 403
    assert refused.json()["message"]
    assert host.large_files == {}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"operation": "download", "objects": [FILE] * 1001}, "more than 1000 files"),
        ({"operation": "upload", "objects": [{"oid": OID, "size": 6 * 1024**3}]}, "more than 5 GiB"),
        ({"operation": "download", "objects": [{"oid": "../x", "size": 1}]}, "cannot be read"),
        ({"operation": "delete", "objects": [FILE]}, "cannot be read"),
        ({"operation": "download", "objects": [], "pad": "x" * 1_100_000}, "too long"),
    ],
)
async def test_batches_have_limits(
    git_lfs: httpx.AsyncClient, host: GitHost, question: dict[str, Any], words: str
) -> None:
    refused = await git_lfs.post("objects/batch", json=question)
    assert refused.status_code == 403
    assert words in refused.json()["message"]
    assert host.requests == []


async def test_refusals_of_the_host_are_told_in_words(sandbox: Sandbox, git_lfs: httpx.AsyncClient) -> None:
    await sandbox.allow(token="expired", scope=PushScope.OWN)
    refused = await asked(git_lfs, "download", FILE)
    assert refused.headers["content-type"] == "application/vnd.git-lfs+json"
    assert "does not accept the user's token" in refused.json()["message"]
    git_lfs.headers["X-Session-API-Key"] = "wrong"
    assert "key of this sandbox is wrong" in (await asked(git_lfs, "download", FILE)).json()["message"]


async def test_other_repositories_have_no_files_here(sandbox: Sandbox, host: GitHost) -> None:
    async with httpx.AsyncClient(headers={"X-Session-API-Key": KEY}) as client:
        question = {"operation": "download", "objects": [FILE]}
        refused = await client.post(f"{sandbox.url('team/other')}/info/lfs/objects/batch", json=question)
    assert "own repository only" in refused.json()["message"]
    assert host.requests == []


async def test_locks_are_refused_with_a_status_after_which_git_lfs_goes_on(
    git_lfs: httpx.AsyncClient, host: GitHost
) -> None:
    for reply in (await git_lfs.post("locks/verify", json={}), await git_lfs.get("locks")):
        assert reply.status_code == 501
        assert "locks" in reply.json()["message"]
    assert host.requests == []


async def test_the_real_git_lfs_pushes_and_pulls_through_the_outlet(sandbox: Sandbox, host: GitHost) -> None:
    need_program("git-lfs")
    outlet = GitRelay(f"{sandbox.inner_url}/api/v1/webhooks", lambda: KEY)
    await outlet.open(0)
    name = f"{host.origin.removeprefix('http://')}/team/harbour"
    public = host.url("team/harbour")
    own = ("-c", f"url.{outlet.url}/{name}.git.insteadOf={public}")
    try:
        await sandbox.clone()
        for arguments in (
            ("remote", "set-url", "origin", public),
            ("lfs", "install", "--local"),
            ("lfs", "track", "*.bin"),
            ("checkout", "-qb", "big"),
        ):
            done = await sandbox.git(*arguments)
            assert done.status == 0, done.output
        await sandbox.commit("model.bin", CONTENT)
        pushed = await sandbox.git(*own, "push", "origin", "HEAD:refs/heads/big")
        assert pushed.status == 0, pushed.output
        assert (host.large_files, host.verified) == ({OID: CONTENT}, [OID])
        copy = sandbox.directory / "copy"
        filters = (
            "-c",
            "filter.lfs.smudge=git-lfs smudge -- %f",
            "-c",
            "filter.lfs.process=git-lfs filter-process",
        )
        cloned = await sandbox.git(
            *own, *filters, "clone", "-q", "-b", "big", public, str(copy), directory=sandbox.directory
        )
        assert cloned.status == 0, cloned.output
        assert (copy / "model.bin").read_bytes() == CONTENT
    finally:
        await outlet.close()
    # A request that bypassed the git proxy would have no token.
    batches = [one for one in host.requests if one.path.endswith("/objects/batch")]
    assert all(one.headers["Authorization"] for one in batches)
