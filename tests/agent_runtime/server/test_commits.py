"""Tests of the routes that list the commits of a repository and show the changes of a commit."""

import subprocess
from pathlib import Path

import httpx

from tests.support.workspace_client import workspace_client


def git(repository: Path, *arguments: str) -> str:
    author = ["-c", "user.name=Zoë", "-c", "user.email=z@example.org"]
    command = ["git", "-C", str(repository), *author, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def history(path: Path) -> Path:
    repository = path / "repo"
    repository.mkdir()
    git(repository, "init", "-q")
    (repository / "Grüße.txt").write_text("one\ntwo\nthree\nfour\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin: first\n\nbody")
    git(repository, "mv", "Grüße.txt", "moved.txt")
    (repository / "moved.txt").write_text("one\ntwo\nthree\nfive\n")
    git(repository, "commit", "-qam", "Move")
    return repository


async def fetch(client: httpx.AsyncClient, address: str, **params: object) -> object:
    reply = await client.get(address, params=params)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_commits_are_listed_newest_first_and_paged(tmp_path: Path):
    repository = history(tmp_path)
    async with workspace_client(tmp_path) as client:
        page = await fetch(client, "/api/git/commits", path=str(repository), limit=1)
        everything = await fetch(client, "/api/git/commits", path=str(repository))

    assert isinstance(page, dict)
    assert isinstance(everything, dict)
    assert (page["has_more"], everything["has_more"]) == (True, False)
    first, second = everything["commits"]
    assert page["commits"] == [first]
    assert (first["subject"], first["author"]) == ("Move", "Zoë")
    assert second["subject"] == "Begin: first"
    assert second["sha"].startswith(second["short_sha"])
    assert second["timestamp"][:2] == "20"


async def test_a_commit_tells_its_changes_and_both_sides_of_each(tmp_path: Path):
    repository = history(tmp_path)
    newest, oldest = git(repository, "log", "--format=%H").split()
    where = {"path": str(repository)}
    async with workspace_client(tmp_path) as client:
        moved = await fetch(client, f"/api/git/commits/{newest}/changes", **where)
        begun = await fetch(client, f"/api/git/commits/{oldest}/changes", **where)
        diff = await fetch(client, "/api/git/diff", path=str(repository / "moved.txt"), commit=newest)
        first = await fetch(client, "/api/git/diff", path=str(repository / "Grüße.txt"), commit=oldest)

    assert moved == [{"status": "MOVED", "path": "moved.txt"}]
    assert begun == [{"status": "ADDED", "path": "Grüße.txt"}]
    assert diff == {"original": "one\ntwo\nthree\nfour\n", "modified": "one\ntwo\nthree\nfive\n"}
    assert first == {"original": None, "modified": "one\ntwo\nthree\nfour\n"}


async def test_an_unknown_commit_is_refused_and_a_new_repository_has_no_commits(tmp_path: Path):
    repository = history(tmp_path)
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q")
    async with workspace_client(tmp_path) as client:
        unknown = await client.get(f"/api/git/commits/{'0' * 40}/changes", params={"path": str(repository)})
        option = await client.get("/api/git/commits/--output=x/changes", params={"path": str(repository)})
        empty = await fetch(client, "/api/git/commits", path=str(tmp_path / "new"))

    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_ref")
    assert option.status_code == 422
    assert empty == {"commits": [], "has_more": False}
