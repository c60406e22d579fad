"""Tests of the file routes: upload, download, download as an archive, and refusal of
paths outside the roots.
"""

import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.support.workspace_client import workspace_client


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_text("canary")
    return tmp_path / "root"


@pytest.fixture
async def client(root: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with workspace_client(root) as client:
        yield client


async def upload(client: httpx.AsyncClient, path: Path | str, content: bytes) -> httpx.Response:
    return await client.post("/api/file/upload", params={"path": str(path)}, files={"file": content})


async def test_an_upload_creates_directories_and_comes_back_by_download(client, root: Path):
    content = bytes(range(256)) * 10_000
    reply = await upload(client, root / "new dir" / "ü.bin", content)
    assert reply.json() == {"success": True, "file_size": len(content)}
    assert [path.name for path in (root / "new dir").iterdir()] == ["ü.bin"]
    got = await client.get("/api/file/download", params={"path": str(root / "new dir" / "ü.bin")})
    assert got.content == content


async def test_an_upload_replaces_the_content_and_keeps_the_mode(client, root: Path):
    script = root / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    assert (await upload(client, script, b"new")).status_code == 200
    assert script.read_text() == "new"
    assert script.stat().st_mode & 0o777 == 0o755


async def test_directories_are_created_with_their_parents(client, root: Path):
    for _ in range(2):
        reply = await client.post("/api/file/create_directory", params={"path": str(root / "a" / "b")})
        assert reply.json() == {"success": True}
    assert (root / "a" / "b").is_dir()


async def test_nothing_outside_the_roots_is_reached(client, root: Path):
    (root / "link").symlink_to(root.parent / "secret")
    (root / "out").symlink_to(root.parent)
    paths = [
        root.parent / "secret",
        f"{root}/../secret",
        root / "link",
        root / "out" / "secret",
        "/etc/passwd",
    ]
    for path in paths:
        for method, route in (
            ("GET", "/api/file/download"),
            ("GET", "/api/file/archive"),
            ("POST", "/api/file/create_directory"),
            ("GET", "/api/git/changes"),
        ):
            reply = await client.request(method, route, params={"path": str(path)})
            assert (reply.status_code, reply.json()["code"]) == (403, "path_not_allowed"), (route, path)
            assert "canary" not in reply.text
        assert (await upload(client, path, b"x")).status_code == 403
    assert (root.parent / "secret").read_text() == "canary"


@pytest.mark.parametrize(
    ("method", "route", "path", "status", "code"),
    [
        ("GET", "download", "relative", 400, "path_not_absolute"),
        ("GET", "download", "", 400, "path_not_absolute"),
        ("GET", "download", "{root}/missing", 404, "not_found"),
        ("GET", "download", "{root}", 400, "is_a_directory"),
        ("GET", "download", "{root}/" + "x" * 300, 400, "file_system_refused"),
        ("GET", "download", "{root}/a\0b", 403, "path_not_allowed"),
        ("POST", "create_directory", "{root}/file/sub", 400, "file_system_refused"),
        ("POST", "create_directory", "{root}/file", 400, "file_system_refused"),
        ("GET", "archive", "{root}", 404, "not_a_repository"),
        ("POST", "upload", "{root}/x", 422, "validation_failed"),
    ],
)
async def test_bad_requests_are_problems(client, root: Path, method, route, path, status, code):
    (root / "file").touch()
    reply = await client.request(method, f"/api/file/{route}", params={"path": path.format(root=root)})
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.headers["content-type"] == "application/problem+json"


async def test_an_upload_to_an_impossible_place_is_a_problem(client, root: Path):
    (root / "file").touch()
    assert (await upload(client, root, b"x")).json()["code"] == "is_a_directory"
    assert (await upload(client, root / "file" / "x", b"x")).status_code == 400
    assert (await upload(client, root / ("x" * 300), b"x")).status_code == 400


async def test_an_archive_has_the_files_without_what_can_be_made_again(client, root: Path):
    for name in ("a.txt", "src/b.txt", "src/c.log", "node_modules/x.js", "src/__pycache__/b.pyc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "link").symlink_to("/etc/passwd")

    async def names(**params) -> set[str]:
        reply = await client.get(
            "/api/file/archive", params={"path": str(root), "format": "tar.gz", **params}
        )
        assert reply.headers["content-type"] == "application/gzip"
        with tarfile.open(fileobj=io.BytesIO(reply.content)) as archive:
            assert archive.getmember("./link").issym()
            return {member.name.removeprefix("./") for member in archive if member.isfile()}

    assert await names() == {"a.txt", "src/b.txt", "src/c.log"}
    assert await names(exclude="*.log") == {"a.txt", "src/b.txt"}
    assert "node_modules/x.js" in await names(use_default_excludes=False)
