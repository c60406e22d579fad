"""Tests of the routes that list directories, tools, and the web interfaces beside the server."""

from pathlib import Path

import pytest

from tests.support.agent_app import agent_app, called


async def test_directories_are_listed_by_name_page_by_page(tmp_path: Path):
    project = tmp_path / "project"
    for name in ("beta", "Alpha", ".hidden", "gamma", "Ölig"):
        (project / name).mkdir(parents=True)
    (project / "file").write_text("")
    (project / "link").symlink_to(project / "beta")
    async with agent_app(tmp_path) as client:
        where = {"path": str(project)}
        first = await called(client, "GET", "/api/file/search_subdirs", params={**where, "limit": 2})
        rest = await called(
            client, "GET", "/api/file/search_subdirs", params={**where, "page_id": first["next_page_id"]}
        )
        hidden = await called(
            client, "GET", "/api/file/search_subdirs", params={**where, "include_hidden": True}
        )
        missing = await client.get("/api/file/search_subdirs", params={"path": str(project / "none")})
        relative = await client.get("/api/file/search_subdirs", params={"path": "project"})
        outside = await client.get("/api/file/search_subdirs", params={"path": "/etc"})

    assert [one["name"] for one in first["items"]] == ["Alpha", "beta"]
    assert first["items"][0]["path"] == str(project / "Alpha")
    assert [one["name"] for one in rest["items"]] == ["gamma", "Ölig"]
    assert rest["next_page_id"] is None
    assert ".hidden" in [one["name"] for one in hidden["items"]]
    assert (missing.status_code, relative.status_code, outside.status_code) == (404, 400, 403)


async def test_home_names_only_what_can_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "project" / "code").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "project"))
    async with agent_app(tmp_path) as client:
        inside = await called(client, "GET", "/api/file/home")
        monkeypatch.setenv("HOME", "/root")
        outside = await called(client, "GET", "/api/file/home")

    assert inside["favorites"] == [{"label": "code", "path": str(tmp_path / "project" / "code")}]
    assert str(tmp_path / "project") in [one["path"] for one in inside["locations"]]
    assert outside["favorites"] == []


async def test_the_catalog_says_of_every_tool_what_it_is_for(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        names = await called(client, "GET", "/api/tools/")
        catalog = {one["name"]: one for one in (await called(client, "GET", "/api/tools/catalog"))["tools"]}

    assert list(catalog) == names
    assert catalog["terminal"]["in_default_set"]
    assert catalog["terminal"]["user_selectable"]
    assert not catalog["finish"]["user_selectable"]
    assert all(one["description"] for one in catalog.values())
