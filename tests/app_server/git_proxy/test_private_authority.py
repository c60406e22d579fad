"""Tests of the git proxy with a git host whose certificate is signed by a private authority."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.app_server.git_proxy.conftest import CANARY, KEY, Sandbox
from tests.support.git_host import GitHost
from tests.support.outside import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def host(tmp_path: Path, authority: Authority) -> Iterator[GitHost]:
    with GitHost(tmp_path / "host", tls=authority.context("127.0.0.1")) as host:
        host.make("team/harbour")
        host.tokens[CANARY] = "write"
        yield host


async def test_the_authority_of_the_connection_is_trusted_and_stays_out_of_the_sandbox(
    sandbox: Sandbox, host: GitHost, authority: Authority
) -> None:
    refused = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert "is not trusted" in refused.output
    assert "paste the certificate of that authority under Settings, Git hosts" in refused.output
    assert host.requests == []

    certificate = authority.file.read_text()
    await sandbox.allow(authorities=certificate)
    await sandbox.clone()
    await sandbox.git("switch", "-q", "-c", "slipway/notes")
    commit = await sandbox.commit()
    pushed = await sandbox.push("slipway/notes")
    assert pushed.status == 0, pushed.output
    assert host.branches("team/harbour")["refs/heads/slipway/notes"] == commit

    content = b"a large file"
    oid = hashlib.sha256(content).hexdigest()
    host.large_files[oid] = content
    wanted = {"operation": "download", "objects": [{"oid": oid, "size": len(content)}]}
    async with httpx.AsyncClient(headers={"X-Session-API-Key": KEY}) as client:
        reply = await client.post(f"{sandbox.url()}/info/lfs/objects/batch", json=wanted)
        (found,) = reply.json()["objects"]
        assert (await client.get(found["actions"]["download"]["href"])).content == content
    body = "".join(certificate.splitlines()[1:-1])
    for file in sandbox.directory.rglob("*"):
        assert not file.is_file() or body[:40].encode() not in file.read_bytes()
