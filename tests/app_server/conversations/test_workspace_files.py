"""Tests of the routes that list and download single files of a conversation's workspace."""

from pathlib import Path

import httpx

from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, commit, git


async def test_directories_and_files_of_all_repositories(
    home: Home, repository: Path, tmp_path: Path
) -> None:
    lamp = tmp_path / "lamp"
    lamp.mkdir()
    git(lamp, "init", "-q", "-b", "main")
    content = bytes(range(256)) * 4096
    (lamp / "light ü.bin").write_bytes(content)
    commit(lamp, "A lamp")
    task = await home.ready(
        selected_repository=str(repository), more_repositories=[{"repository": str(lamp)}]
    )
    route = f"{ROOT}/{task['id']}"

    async def read(name: str, **params: str) -> httpx.Response:
        return await home.client.get(f"{route}/{name}", params=params)

    names = [entry["name"] for entry in (await read("directory")).json()["items"]]
    [further] = [
        one for one in (await read("directory", path="../lamp")).json()["items"] if one["name"] != ".git"
    ]
    downloaded = await read("file/download", path="../lamp/light ü.bin")
    refused = [
        await read("directory", path="none"),
        await read("directory", path="/etc"),
        await read("directory", page_id="7"),
        await read("file/download", path="none"),
        await read("file/download", path="/etc/passwd"),
        await read("file/download", path="../lamp"),
    ]

    assert names.index(".git") < names.index("README.md")
    assert (further["name"], further["kind"], further["size"]) == ("light ü.bin", "file", len(content))
    assert downloaded.content == content
    assert downloaded.headers["content-length"] == str(len(content))
    assert downloaded.headers["content-type"] == "application/octet-stream"
    assert downloaded.headers["x-content-type-options"] == "nosniff"
    disposition = "attachment; filename*=UTF-8''light%20%C3%BC.bin"
    assert downloaded.headers["content-disposition"] == disposition
    assert [(reply.status_code, reply.json()["code"]) for reply in refused] == [
        (404, "not_found"),
        (403, "path_not_allowed"),
        (422, "validation_failed"),
        (404, "not_found"),
        (403, "path_not_allowed"),
        (400, "is_a_directory"),
    ]


async def test_many_entries_come_page_by_page(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    await home.shell(task["id"], "mkdir many && cd many && seq -f file-%04g 1 501 | xargs touch")
    route = f"{ROOT}/{task['id']}/directory"

    first = (await home.client.get(route, params={"path": "many"})).json()
    rest = (await home.client.get(route, params={"path": "many", "page_id": first["next_page_id"]})).json()

    assert (len(first["items"]), first["items"][-1]["name"]) == (500, "file-0500")
    assert ([entry["name"] for entry in rest["items"]], rest["next_page_id"]) == (["file-0501"], None)


async def test_guests_see_the_repository_alone(home: Home, repository: Path) -> None:
    task = await home.ready(selected_repository=str(repository))
    route = f"{ROOT}/{task['id']}"
    await home.shell(task["id"], "echo private > ~/note; ln -s ~/note link; ln -s ~ home; echo public > open")
    async with client_of(home.config, await home.key_of(role=Role.MEMBER)) as guest:
        guest_id = (await guest.get("/api/v1/users/me")).json()["id"]
        shared = await home.client.put(f"{route}/sharing/people/{guest_id}", json={"access": "view"})
        assert shared.is_success, shared.text
        listed = (await guest.get(f"{route}/directory")).json()["items"]
        opened = await guest.get(f"{route}/file/download", params={"path": "open"})
        refused = [
            (await guest.get(f"{route}/{path}")).json()["code"]
            for path in (
                "directory?path=..",
                "directory?path=home",
                "file?file_path=link",
                "file?file_path=../../home/note",
                "file/download?path=link",
                "file/download?path=home/note",
            )
        ]
    of_owner = await home.client.get(f"{route}/file", params={"file_path": "link"})

    kinds = {entry["name"]: entry["kind"] for entry in listed}
    assert (kinds["open"], kinds["link"], kinds["home"]) == ("file", "other", "other")
    assert opened.text == "public\n"
    assert refused == [
        "outside_the_repository",
        "path_not_allowed",
        "path_not_allowed",
        "outside_the_repository",
        "path_not_allowed",
        "path_not_allowed",
    ]
    assert of_owner.json() == "private\n"
