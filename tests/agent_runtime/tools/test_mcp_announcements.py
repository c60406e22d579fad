"""Tests of MCP servers that announce a change of their tools as the newer revision of the protocol defines
it.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from mcp import Client
from mcp.types.version import LATEST_MODERN_VERSION

from agent_runtime.tools.mcp.config import McpServer
from agent_runtime.tools.mcp.connection import McpConnection
from tests.support.mcp_processes import STDIO, http_server
from tests.support.patience import PATIENCE_SECONDS

ANNOUNCES = "grow_for_subscribers"
"""A tool that adds another tool to the server and announces this only to clients that have subscribed.
Clients with an older revision of the protocol cannot subscribe.
"""
ASK_AGAIN_SECONDS = 0.2


@pytest.fixture
def http_url() -> Iterator[str]:
    with http_server("tests.support.mcp_server", "http") as url:
        yield url


@pytest.fixture(params=["stdio", "http"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return STDIO if request.param == "stdio" else {"url": request.getfixturevalue("http_url")}


class Heard:
    """A connection to an MCP server. It remembers whether the server has announced a change of its tools."""

    def __init__(self, config: dict[str, Any], directory: Path) -> None:
        self._changed = asyncio.Event()
        self.connection = McpConnection(
            "sums", McpServer.model_validate(config), directory, on_change=self._changed.set
        )

    async def __aenter__(self) -> Self:
        self.names_before = await self.names()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()

    async def names(self) -> set[str]:
        return {tool.name for tool in await self.connection.tools()}

    async def change_after(self, cause: Any) -> None:
        """Calls `cause` until the server announces a change. The server may not have the subscription at the
        first call.
        """
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not self._changed.is_set():
                await cause()
                await asyncio.wait(
                    [waiting := asyncio.ensure_future(self._changed.wait())], timeout=ASK_AGAIN_SECONDS
                )
                waiting.cancel()


async def test_a_subscriber_hears_of_a_new_tool(config: dict[str, Any], tmp_path: Path):
    async with Heard(config, tmp_path) as heard:
        assert heard.connection.protocol_version == LATEST_MODERN_VERSION

        await heard.change_after(lambda: heard.connection.call(ANNOUNCES, {}))

        assert await heard.names() - heard.names_before == {"grown"}


async def test_changes_that_another_client_caused_are_announced_too(http_url: str, tmp_path: Path):
    async with Heard({"url": http_url}, tmp_path) as heard, Client(http_url) as somebody:
        await heard.change_after(lambda: somebody.call_tool(ANNOUNCES, {}))

        assert await heard.names() - heard.names_before == {"grown"}
