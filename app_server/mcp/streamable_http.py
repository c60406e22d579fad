"""Provides MCP tools over streamable HTTP, the HTTP transport of MCP. The library fastmcp implements the
protocol. It is loaded at the first request.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any

from fastapi import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app_server.core.background import Background
from app_server.core.errors import AppError, Unavailable
from app_server.core.version import VERSION
from app_server.mcp.caller import called_by
from app_server.mcp.tool import McpTool

logger = logging.getLogger(__name__)

START_SECONDS = 60.0


class ServedTools:
    """An MCP server that can provide different tools for each request. It stores no sessions, so each of
    several app servers can reply to every request.

    `instructions`: a text for the model that uses the tools.
    """

    def __init__(self, background: Background, *, instructions: str) -> None:
        self._background = background
        self._instructions = instructions
        self._started: dict[tuple[str, ...], asyncio.Future[ASGIApp]] = {}

    async def reply_to(self, request: Request, tools: Sequence[McpTool]) -> Response:
        """Returns the HTTP response to an MCP request. `tools`: the only tools that the sender of the request
        can list and call.

        Raises Unavailable `mcp_server_not_started` if the fastmcp server for these tools does not start.
        """
        body = await request.body()
        names = tuple(one.run.__name__ for one in tools)
        if names not in self._started:
            self._started[names] = asyncio.get_running_loop().create_future()
            self._background.start(self._serve(names, tools), name="MCP server")
        try:
            app = await asyncio.wait_for(asyncio.shield(self._started[names]), START_SECONDS)
        except TimeoutError:
            raise _not_started() from None
        return _Answered(app, request, body)

    async def _serve(self, names: tuple[str, ...], tools: Sequence[McpTool]) -> None:
        """Starts a fastmcp server with these tools and keeps it running until this background task is
        cancelled. `names`: the names of the tools.

        When the server has started, its ASGI app is set as the result of the future in `_started`. If the
        start fails, the future gets an error. Requests that arrive during the start wait for this future.
        """
        started = self._started[names]
        try:
            app = await asyncio.to_thread(_application, self._instructions, tools)
            async with app.lifespan(app):
                started.set_result(app)
                await asyncio.Event().wait()
        finally:
            # After a failure, the next request tries again.
            self._started.pop(names, None)
            if not started.done():
                started.set_exception(_not_started())
                started.exception()  # it may be that no request waits for it any more


class _Answered(Response):
    """The HTTP response to an MCP request. The fastmcp server, an ASGI app, processes the request and writes
    the response.

    `body`: the request's body. Slipway has already read it from the connection, so the fastmcp server gets it
    from here. While the fastmcp server runs, `caller.current_request` returns `request`.
    """

    def __init__(self, app: ASGIApp, request: Request, body: bytes) -> None:
        super().__init__()
        self._app = app
        self._request = request
        self._request_body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_given = False

        async def receive_again() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": self._request_body, "more_body": False}

        # The path is the one of the inner app, whatever route led here.
        own = {**scope, "path": "/", "raw_path": b"/", "root_path": ""}
        with called_by(self._request):
            await self._app(own, receive_again, send)


def _not_started() -> Unavailable:
    return Unavailable(
        "The MCP server has not started.", code="mcp_server_not_started", fix="Try again in a moment."
    )


def _application(instructions: str, tools: Sequence[McpTool]) -> Any:
    # Here, not at the top: the import takes half a second and 36 MB, and many installations never need it.
    from fastmcp import FastMCP
    from fastmcp.exceptions import ToolError

    # Its handler writes refusals of tools with tracebacks, past the server's own log.
    library_log = logging.getLogger("fastmcp")
    library_log.handlers.clear()
    library_log.setLevel(logging.CRITICAL)
    server: Any = FastMCP(
        "Slipway",
        version=VERSION,
        instructions=instructions,
        mask_error_details=True,
        strict_input_validation=False,
    )
    for one in tools:
        server.tool(
            _telling_errors(one.run, ToolError),
            title=one.title,
            description=inspect.getdoc(one.run),
            annotations=one.annotations,
        )
    # Host, Origin and credentials are checked in front of it.
    return server.http_app(path="/", stateless_http=True, json_response=True)


def _telling_errors(
    run: Callable[..., Awaitable[Any]], error_of_a_tool: type[Exception]
) -> Callable[..., Awaitable[Any]]:
    @wraps(run)
    async def call(*arguments: Any, **named: Any) -> Any:
        try:
            return await run(*arguments, **named)
        except AppError as error:
            raise error_of_a_tool(error_text(error)) from error
        except Exception:
            logger.exception("a tool failed", extra={"tool": run.__name__})
            raise

    return call


def error_text(error: AppError) -> str:
    """Returns the text with which a tool reports an error to the model: the cause, what to do, and the stable
    code of the error.
    """
    fix = f" {error.fix}" if error.fix else ""
    return f"{error.detail}{fix} (code: {error.code})"
