"""Tests an MCP server before a client saves its configuration: whether it answers, which tools it has, and
whether the credentials work.
"""

import asyncio
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from pydantic import ValidationError

from agent_runtime.tools.mcp.config import McpServer
from agent_runtime.tools.mcp.connection import McpConnection, McpUnavailableError
from agent_runtime.tools.mcp.oauth import SignIn
from agent_runtime.wire import (
    McpOAuthStatus,
    McpTestFailure,
    McpTestRequest,
    McpTestResult,
    McpTestSuccess,
    McpToolCall,
    McpToolCallResult,
)

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MAX_SIGN_INS = 20
SIGN_IN_SECONDS = 600.0


async def probe(
    request: McpTestRequest, working_dir: Path, *, sign_in: SignIn | None = None
) -> McpTestResult:
    """Connects to the MCP server of the request. Returns the server's tools, and the result of a test call if
    the request asks for one. If the server cannot be reached, the result contains the reason.

    `working_dir`: the directory in which the MCP server runs if it is a program on this machine and its
    configuration names no directory. `sign_in`: the OAuth sign-in that the user completes in a browser while
    this function waits; None if no sign-in is offered. With a sign-in, the connection may take up to
    SIGN_IN_SECONDS.
    """
    try:
        server = McpServer.model_validate({**request.server, "timeout": request.timeout})
    except ValidationError as error:
        return McpTestFailure(error=str(error.errors()[0]["msg"]), error_kind="unknown")
    # A sign-in by a person takes longer than a reply of a server.
    patience = request.timeout if sign_in is None else SIGN_IN_SECONDS
    connection = McpConnection(request.name, server, working_dir, sign_in=sign_in, connect_seconds=patience)
    try:
        tools = [tool.name for tool in await connection.tools()]
        result = await _call(connection, request.tool_call, tools) if request.tool_call else None
        return McpTestSuccess(tools=tools, tool_result=result, oauth_state=connection.oauth_state.to_wire())
    except McpUnavailableError as error:
        return McpTestFailure(error=str(error), error_kind="timeout" if error.is_timeout else "connection")
    finally:
        await connection.close()


class SignIns:
    """The active OAuth sign-ins to MCP servers. If MAX_SIGN_INS sign-ins are active, the start of a new one
    cancels the oldest one.
    """

    def __init__(self, working_dir: Path) -> None:
        self._working_dir = working_dir
        self._jobs: OrderedDict[str, _Job] = OrderedDict()

    async def start(self, request: McpTestRequest) -> McpOAuthStatus:
        """Begins a sign-in to an MCP server. Waits until the URL that the user must open is known, or until
        the sign-in has ended without such a URL. Then returns the status of the sign-in.

        Waits at most as long as the timeout in the request.
        """
        if len(self._jobs) >= MAX_SIGN_INS:
            await self._jobs.popitem(last=False)[1].close()
        job = _Job(request, self._working_dir)
        self._jobs[job.id] = job
        await job.wait_for_address(request.timeout)
        return job.status()

    def get(self, job_id: str) -> "_Job | None":
        return self._jobs.get(job_id)

    async def close(self) -> None:
        await asyncio.gather(*(job.close() for job in self._jobs.values()))


class _Job:
    def __init__(self, request: McpTestRequest, working_dir: Path) -> None:
        self.id = uuid4().hex
        self.sign_in = SignIn()
        work = probe(request, working_dir, sign_in=self.sign_in)
        self._task = asyncio.create_task(work, name=f"mcp sign-in {self.id}")

    async def wait_for_address(self, seconds: float) -> None:
        either: set[asyncio.Future[Any]] = {self._task, self.sign_in.authorization_url}
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    def status(self) -> McpOAuthStatus:
        address = self.sign_in.authorization_url
        url = address.result() if address.done() and not address.cancelled() else None
        stage: Literal["pending", "authorizing"] = "authorizing" if url else "pending"
        if not self._task.done() or self._task.cancelled():
            return McpOAuthStatus(
                status=stage, job_id=self.id, authorization_url=url, callback_ready=self.sign_in.is_answered
            )
        result = self._task.result()
        if isinstance(result, McpTestFailure):
            return McpOAuthStatus(
                ok=False, status="failed", job_id=self.id, error=result.error, error_kind=result.error_kind
            )
        return McpOAuthStatus(status="succeeded", job_id=self.id, **result.model_dump(exclude={"ok"}))

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


async def _call(connection: McpConnection, wanted: McpToolCall, tools: list[str]) -> McpToolCallResult:
    if wanted.name not in tools:
        return McpToolCallResult(is_error=True, text=f"The server has no tool {wanted.name}.")
    try:
        result: CallToolResult = await connection.call(wanted.name, wanted.arguments)
    except McpUnavailableError as error:
        return McpToolCallResult(is_error=True, text=str(error))
    texts = [block.text for block in result.content if block.type == "text"]
    return McpToolCallResult(is_error=result.is_error, text="\n".join(texts))
