"""Tests an MCP server from the app server: whether the MCP server replies, and which tools it has."""

import asyncio
import importlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from agent_runtime.time_limits import time_limit
from app_server.http.guarded_client import Guard
from app_server.mcp_servers.guarded_client import mcp_client
from app_server.mcp_servers.schemas import McpTestReport, McpToolInfo, McpTroubleKind

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

TIMEOUT_SECONDS = 30.0
MAX_TOOL_PAGES = 20
NO_HEADERS: Mapping[str, str] = {}
_MAX_ERROR_CHARACTERS = 500
_CREDENTIALS_REFUSED = frozenset((HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN))


async def probe(
    url: str,
    headers: Mapping[str, str],
    *,
    guard: Guard | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> McpTestReport:
    """Tests an MCP server. Returns a report with the server's tools, or with the reason why the server cannot
    be reached.

    `headers`: all headers that the server needs. `guard`: decides which addresses may be called; None allows
    every address.
    """
    # The first test loads the library in a thread, because this takes most of a second.
    await asyncio.to_thread(importlib.import_module, "mcp.client.streamable_http")
    import httpx2
    from mcp import MCPError

    refusals: list[httpx2.Response] = []
    try:
        async with time_limit(timeout_seconds):
            tools = await list_tools(url, headers=headers, guard=guard, refusals=refusals)
            return McpTestReport(ok=True, tools=tools)
    except TimeoutError:
        return _trouble("timeout", f"It did not answer within {timeout_seconds:g} seconds.")
    except (ExceptionGroup, MCPError, httpx2.HTTPError) as error:
        return _report(error, refusals)


async def list_tools(
    url: str,
    *,
    headers: Mapping[str, str] = NO_HEADERS,
    auth: "httpx2.Auth | None" = None,
    guard: Guard | None = None,
    refusals: "list[httpx2.Response] | None" = None,
) -> list[McpToolInfo]:
    """Connects to an MCP server and returns its tools. Reads at most MAX_TOOL_PAGES pages of tools.

    `auth`: adds the credentials of an OAuth sign-in to each request; None means that only `headers` are sent.
    `guard`: decides which addresses may be called; None allows every address. `refusals`: a list to which the
    function adds the server's error responses, because the raised errors do not contain them.

    Raises ExceptionGroup, MCPError or httpx2.HTTPError if the connection fails or the server replies with an
    error.
    """
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.types import Implementation

    async def note(response: "httpx2.Response") -> None:
        # The library's error says only that there was an error response.
        if (
            refusals is not None
            and response.status_code >= HTTPStatus.BAD_REQUEST
            and response.request.method == "POST"
        ):
            refusals.append(response)

    async with mcp_client(guard, headers, auth) as http:
        http.event_hooks["response"].append(note)
        connection = streamable_http_client(url, http_client=http)
        async with Client(connection, client_info=Implementation(name="slipway", version="1")) as client:
            return await _listed(client)


async def _listed(client: "Client") -> list[McpToolInfo]:
    found: list[McpToolInfo] = []
    cursor: str | None = None
    for _ in range(MAX_TOOL_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [
            McpToolInfo(name=tool.name, title=tool.title, description=tool.description) for tool in page.tools
        ]
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _report(error: BaseException, refusals: "list[httpx2.Response]") -> McpTestReport:
    said = first_cause(error)
    if not refusals:
        return _trouble("connection", said, fix="Check the URL, and that this server can reach it.")
    last = refusals[-1]
    status = f"HTTP {last.status_code} {last.reason_phrase}"
    if last.status_code in _CREDENTIALS_REFUSED:
        return _trouble(
            "refused",
            f"It refuses the sign-in ({status}).",
            fix="Check its headers: a token may be missing or wrong. If it wants a sign-in, connect it.",
        )
    return _trouble("unknown", f"{said} ({status})", fix="Check that the URL is that of its MCP endpoint.")


def innermost(error: BaseException) -> BaseException:
    """Returns the first error inside nested exception groups that is not an exception group itself. Returns
    `error` if it is not an exception group.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def first_cause(error: BaseException) -> str:
    error = innermost(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _trouble(kind: McpTroubleKind, said: str, *, fix: str | None = None) -> McpTestReport:
    return McpTestReport(ok=False, error=said[:_MAX_ERROR_CHARACTERS], error_kind=kind, fix=fix)
