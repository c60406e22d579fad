"""Fixtures with a real Chromium and a web server whose pages the tests define."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_runtime.tools.arguments import parse_arguments
from agent_runtime.tools.browser.models import BrowserObservation
from agent_runtime.tools.browser.session import BrowserSession
from agent_runtime.tools.browser.tools import TOOLS
from tests.support.web_site import WebSite, web_site

LIMIT_SECONDS = 30.0
"""The time limit of a call of the browser. It is long enough for a busy machine."""


class Driver:
    """Calls the browser's tools with arguments like those of a model."""

    def __init__(self, session: BrowserSession) -> None:
        self.session = session
        self._tools = {tool.name: tool(session) for tool in TOOLS}

    async def call(self, name: str, **arguments: Any) -> BrowserObservation:
        tool = self._tools[f"browser_{name}"]
        return await tool.run(parse_arguments(tool, arguments))

    async def open(self, url: str, **arguments: Any) -> str:
        """Opens a page, checks that this succeeded, and returns the text of the result."""
        found = await self.call("navigate", url=url, **arguments)
        assert not found.is_error, found.text
        return found.text

    async def state(self) -> str:
        return (await self.call("get_state")).text

    async def number(self, name: str) -> int:
        """Returns the number of the first element whose line in a new result of `get_state`
        contains `name`.
        """
        state = await self.state()
        found = re.search(rf"^\[(\d+)\] .*{re.escape(name)}", state, re.MULTILINE)
        assert found, state
        return int(found[1])

    async def click(self, name: str, **arguments: Any) -> BrowserObservation:
        return await self.call("click", index=await self.number(name), **arguments)

    async def type(self, name: str, text: str) -> BrowserObservation:
        return await self.call("type", index=await self.number(name), text=text)

    async def content(self, **arguments: Any) -> str:
        return (await self.call("get_content", **arguments)).text


@pytest.fixture
def site() -> Iterator[WebSite]:
    with web_site() as site:
        yield site


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
async def browser(workspace: Path) -> AsyncIterator[Driver]:
    session = BrowserSession(workspace, load_seconds=LIMIT_SECONDS)
    yield Driver(session)
    await session.close()
