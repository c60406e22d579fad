"""Tests of the routes that show the agent's browser to users, and of what the server reports if no browser is
installed.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.web_site import WebSite, web_site

CANARY = "top-canary-value"


@pytest.fixture
def site() -> Iterator[WebSite]:
    with web_site() as site:
        yield site


@pytest.mark.browser
async def test_people_see_the_tabs_and_a_picture_without_the_secrets(
    tmp_path: Path, scripted_llm: ScriptedLLM, site: WebSite
):
    site.pages["/"] = f"<title>Home of {CANARY}</title>"
    scripted_llm.script(call("browser_navigate", url=site.url), say("Opened."))
    request = start_request(scripted_llm, tmp_path)
    request["agent"]["tools"] = [{"name": "browser_tool_set"}]
    request["secrets"] = {"KEY": {"kind": "StaticSecret", "value": CANARY}}
    async with agent_app(tmp_path) as client:
        made = await called(client, "POST", "/api/conversations", json=request)
        path = f"/api/conversations/{made['id']}"
        assert await called(client, "GET", f"{path}/browser") == {
            "is_open": False, "pages": [], "image_url": None,
        }  # fmt: skip
        await called(client, "POST", f"{path}/events", json=message("Open it.", run=True))
        await wait_for_status(client, made["id"], "finished")

        seen = await called(client, "GET", f"{path}/browser")

    assert seen["is_open"]
    (page,) = seen["pages"]
    assert (page["url"], page["title"]) == (f"{site.url}/", "Home of <secret-hidden>")
    assert page["is_current"]
    assert seen["image_url"].startswith("data:image/jpeg;base64,")


async def test_there_is_nothing_to_see_of_a_conversation_that_does_not_exist(tmp_path: Path):
    async with agent_app(tmp_path) as client:
        assert (await client.get(f"/api/conversations/{uuid4()}/browser")).status_code == 404


async def test_without_chromium_the_catalog_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    async with agent_app(tmp_path) as client:
        tools = (await called(client, "GET", "/api/tools/catalog"))["tools"]
        usable = (await called(client, "GET", "/server_info"))["usable_tools"]

    (entry,) = [tool for tool in tools if tool["name"] == "browser_tool_set"]
    assert not entry["usable"]
    assert "no Chromium on PATH" in entry["description"]
    assert "browser_tool_set" not in usable
    assert "terminal" in usable
