"""Tests of the routes that show the uncommitted changes of a repository."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.support.workspace_client import workspace_client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    (tmp_path / "ü.txt").write_text("old\n")
    commit = ("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    subprocess.run(["git", "-C", tmp_path, *commit], check=True)
    (tmp_path / "ü.txt").write_text("new\n")
    (tmp_path / "untracked").write_text("x\n")
    return tmp_path


@pytest.fixture
async def client(root: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with workspace_client(root) as client:
        yield client


async def test_changes_are_listed_with_plain_relative_paths(client: httpx.AsyncClient, root: Path):
    for params in ({}, {"ref": "HEAD"}):
        reply = await client.get("/api/git/changes", params={"path": str(root), **params})
        assert reply.json() == [
            {"status": "ADDED", "path": "untracked"},
            {"status": "UPDATED", "path": "ü.txt"},
        ]


async def test_a_file_is_shown_before_and_now(client: httpx.AsyncClient, root: Path):
    for name, expected in (
        ("ü.txt", {"modified": "new\n", "original": "old\n"}),
        ("untracked", {"modified": "x\n", "original": None}),
    ):
        reply = await client.get("/api/git/diff", params={"path": str(root / name)})
        assert reply.json() == expected


async def test_the_whole_change_is_a_patch(client: httpx.AsyncClient, root: Path):
    reply = await client.get("/api/file/archive", params={"path": str(root)})
    assert reply.headers["content-type"].startswith("text/x-diff")
    assert "-old\n+new\n" in reply.text
    assert "+x\n" in reply.text


@pytest.mark.parametrize(
    ("route", "params", "status", "code"),
    [
        ("git/changes", {"path": "{root}", "ref": "missing"}, 404, "unknown_ref"),
        ("git/changes", {"path": "{root}", "ref": "a\0b"}, 404, "unknown_ref"),
        ("git/changes", {"path": "{root}/missing"}, 404, "not_a_repository"),
        ("git/changes", {"path": "{root}/" + "x" * 300}, 400, "file_system_refused"),
        ("git/commits", {"path": "{root}/" + "x" * 300}, 400, "file_system_refused"),
        ("git/commits/abcd/changes", {"path": "{root}/" + "x" * 300}, 400, "file_system_refused"),
        ("git/diff", {"path": "{root}/" + "x" * 300}, 400, "file_system_refused"),
        ("git/diff", {"path": "{root}/" + "x" * 300 + "/y"}, 400, "file_system_refused"),
        ("file/archive", {"path": "{root}/" + "x" * 300}, 400, "file_system_refused"),
        ("git/changes", {"path": "relative"}, 400, "path_not_absolute"),
        ("git/changes", {}, 422, "validation_failed"),
        ("git/diff", {"path": "{root}/missing"}, 404, "not_found"),
        ("git/diff", {"path": "{root}/../x"}, 403, "path_not_allowed"),
        ("git/diff", {"path": "{root}/a\0b"}, 403, "path_not_allowed"),
        ("git/diff", {"path": "{root}"}, 403, "path_not_allowed"),
        ("file/archive", {"path": "{root}", "base_ref": "missing"}, 404, "unknown_ref"),
    ],
)
async def test_what_is_not_there_is_a_problem(client, root: Path, route, params, status, code):
    filled = {name: value.format(root=root) for name, value in params.items()}
    reply = await client.get(f"/api/{route}", params=filled)
    assert (reply.status_code, reply.json()["code"]) == (status, code)


async def test_an_old_git_is_not_told_to_sign(
    client: httpx.AsyncClient,
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
):
    remotes = {"remotes": [], "signing": {"public_key": "ssh-ed25519 AAAA"}}
    settings = root.parent / "conversations" / ".gitconfig"
    assert (await client.put("/api/git/remotes", json=remotes)).status_code == 200
    assert "gpgSign = true" in settings.read_text()
    assert (await client.put("/api/git/remotes", json={"remotes": []})).status_code == 200
    assert "gpgSign" not in settings.read_text()

    old = tmp_path_factory.mktemp("old") / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    refused = await client.put("/api/git/remotes", json=remotes)
    assert (refused.status_code, refused.json()["code"]) == (409, "git_too_old")
    assert "gpgSign" not in settings.read_text()
