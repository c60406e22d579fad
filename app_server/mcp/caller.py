"""Calls the routes of the REST API on behalf of the program that calls an MCP tool.

Such a call contains the credentials of the program. So the app server makes the same checks as for a direct
call of the route by the program: API key, scopes, access to conversations, validation. The audit log names
the API key of the program.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx
from fastapi import Request
from starlette.types import Receive, Scope, Send

from app_server.core.errors import AppError

_request: ContextVar[Request] = ContextVar("request of a tool's caller")

_CREDENTIALS = ("authorization", "x-session-api-key", "host")
_TIMEOUT_SECONDS = 120.0


class CallRefused(AppError):
    """The error that is raised when a route of the REST API refuses a call that an MCP tool makes. The error
    has the same HTTP status and the same `code` as the route's reply.

    `problem`: the JSON object in the route's reply. `status`: the HTTP status of the reply.
    """

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        detail = str(problem.get("detail") or f"The server answered with HTTP {status}.")
        super().__init__(detail, code=str(problem.get("code") or "http_error"), fix=problem.get("fix"))
        self.http_status = status


@contextmanager
def called_by(request: Request) -> Iterator[None]:
    """Makes `current_request` return `request` while the `with` block runs. `request`: an MCP request,
    which may call a tool.

    When this tool calls a route of the REST API, the call contains the credentials of `request`.
    """
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def current_request() -> Request:
    return _request.get()


async def get(path: str, /, **params: Any) -> Any:
    """Calls a GET route of the REST API with the query parameters `params` and returns its JSON reply.
    Parameters that are None are not sent. Raises CallRefused if the reply is an error.
    """
    given = {name: value for name, value in params.items() if value is not None}
    return (await _call("GET", path, params=given)).json()


async def get_text(path: str, /, **params: Any) -> str:
    """Calls a GET route of the REST API with the query parameters `params` and returns the text of its reply.
    Parameters that are None are not sent. Raises CallRefused if the reply is an error.
    """
    given = {name: value for name, value in params.items() if value is not None}
    return (await _call("GET", path, params=given)).text


async def post(path: str, body: Mapping[str, Any] | None = None) -> Any:
    """Calls a POST route of the REST API with a JSON body and returns its JSON reply. Raises CallRefused if
    the reply is an error.
    """
    return (await _call("POST", path, json=dict(body or {}))).json()


async def _call(method: str, path: str, **options: Any) -> httpx.Response:
    request = current_request()
    app = request.scope["app"]
    # The inner call needs the values that the listener and the lifespan have stored in the scope.
    carried = {"state": request.scope["state"], "client": request.scope["client"]}

    async def app_with_state(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, **carried}, receive, send)

    headers = {name: request.headers[name] for name in _CREDENTIALS if name in request.headers}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app_with_state),
        base_url=str(request.base_url),
        headers=headers,
        timeout=_TIMEOUT_SECONDS,
    ) as client:
        reply = await client.request(method, path, **options)
    if reply.is_error:
        is_problem = "json" in reply.headers.get("content-type", "")
        raise CallRefused(reply.json() if is_problem else {}, reply.status_code)
    return reply
