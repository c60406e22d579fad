"""Tests of the route that lists a directory, and of `within`, which limits what can be read."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_app import agent_app, called

ENTRIES = "/api/file/entries"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    (path / "src" / "deep").mkdir(parents=True)
    return path


def by_name(page: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry.pop("name"): entry for entry in page["items"]}


async def test_a_directory_is_listed_page_by_page_with_its_directories_first(
    tmp_path: Path, project: Path
) -> None:
    for name in ("b.txt", ".hidden", "A.txt"):
        (project / name).write_text(name)
    (project / ".git").mkdir()
    async with agent_app(tmp_path) as client:
        names, page_id = [], None
        while True:
            params = {"path": str(project), "limit": 2, **({"page_id": page_id} if page_id else {})}
            page = await called(client, "GET", ENTRIES, params=params)
            names.append([entry["name"] for entry in page["items"]])
            if (page_id := page["next_page_id"]) is None:
                break
            # An entry before the page that comes next does not move the entries of that page.
            (project / f"{len(names)}-new").mkdir()

    assert names == [[".git", "src"], [".hidden", "A.txt"], ["b.txt"]]


async def test_what_kind_each_entry_is(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "file").write_text("twelve bytes")
    os.utime(project / "file", (0, 1_700_000_000))
    (project / "to-file").symlink_to("file")
    (project / "to-directory").symlink_to("src")
    (project / "to-nothing").symlink_to("none")
    (project / "to-itself").symlink_to("to-itself")
    (project / "out").symlink_to("/etc")
    os.mkfifo(project / "pipe")
    monkeypatch.chdir(project)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    (project / os.fsdecode(b"not-\xff-text")).write_text("")
    async with agent_app(tmp_path) as client:
        found = by_name(await called(client, "GET", ENTRIES, params={"path": str(project)}))

    unopened = {"kind": "other", "size": None, "modified_at": None}
    of_file = {"kind": "file", "size": 12, "modified_at": "2023-11-14T22:13:20Z"}
    assert found["file"] == {**of_file, "is_link": False}
    assert found["to-file"] == {**of_file, "is_link": True}
    assert (found["src"]["kind"], found["to-directory"]["kind"]) == ("directory", "directory")
    for name in ("to-nothing", "to-itself", "out"):
        assert found[name] == {**unopened, "is_link": True}, name
    for name in ("pipe", "socket", "not-\N{REPLACEMENT CHARACTER}-text"):
        assert found[name] == {**unopened, "is_link": False}, name


async def test_nothing_outside_of_the_named_directory_is_read(tmp_path: Path, project: Path) -> None:
    (project / "private").write_text("private")
    (project / "src" / "link").symlink_to(project / "private")
    (project / "src" / "up").symlink_to(project)
    within = {"within": str(project / "src")}
    async with agent_app(tmp_path) as client:
        found = by_name(await called(client, "GET", ENTRIES, params={"path": str(project / "src"), **within}))
        refused = [
            await client.get(route, params={"path": str(path), **within})
            for route, path in (
                (ENTRIES, project),
                (ENTRIES, project / "src" / "up"),
                ("/api/file/download", project / "private"),
                ("/api/file/download", project / "src" / "link"),
            )
        ]
        outside = await client.get(ENTRIES, params={"path": str(project), "within": "/"})
        allowed = await client.get("/api/file/download", params={"path": str(project / "src" / "link")})

    assert {name: entry["kind"] for name, entry in found.items()} == {
        "deep": "directory",
        "link": "other",
        "up": "other",
    }
    assert [reply.json()["code"] for reply in [*refused, outside]] == ["path_not_allowed"] * 5
    assert allowed.text == "private"


async def test_what_cannot_be_listed_is_explained(tmp_path: Path, project: Path) -> None:
    (project / "file").write_text("")
    async with agent_app(tmp_path) as client:
        replies = [
            await client.get(ENTRIES, params=params)
            for params in (
                {"path": str(project / "none")},
                {"path": str(project / "file")},
                {"path": "project"},
                {"path": str(project), "page_id": "7"},
                {"path": str(project), "page_id": "other:xyz"},
                {"path": str(project), "limit": 501},
            )
        ]

    assert [(reply.status_code, reply.json()["code"]) for reply in replies] == [
        (404, "not_found"),
        (404, "not_found"),
        (400, "path_not_absolute"),
        (422, "validation_failed"),
        (422, "validation_failed"),
        (422, "validation_failed"),
    ]
