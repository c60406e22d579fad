"""Controls access to this sandbox host. A caller must send the host's token, and must be the first app server
that has called this host.
"""

import asyncio
import hmac
import secrets
from pathlib import Path

from fastapi import Request
from fastapi.security import APIKeyHeader
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_runtime.relay.sockets import refuse_socket
from app_server.core.errors import problem
from app_server.sandbox_backends.remote.wire import INSTALLATION_HEADER, TOKEN_HEADER

TOKEN_SCHEME = APIKeyHeader(name=TOKEN_HEADER, scheme_name="HostToken", auto_error=False)
"""The description of the token in the OpenAPI document. `HostAuthentication` checks the token."""
OPEN_PATH = "/health"


def host_token(home: Path) -> str:
    """Returns the host's token from the file `host-token`. Creates the file at the first start; only its
    owner can read it. Blocks.
    """
    return _kept(home / "host-token", secrets.token_urlsafe(32))


class HostAuthentication:
    """Middleware that checks the host's token in every HTTP request and WebSocket request to this sandbox
    host.
    """

    def __init__(self, app: ASGIApp, *, home: Path, token: str) -> None:
        self._app = app
        self._home = home
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or scope["path"] == OPEN_PATH:
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        shown = connection.headers.get(TOKEN_HEADER, "").encode()
        installation = connection.headers.get(INSTALLATION_HEADER, "")
        if not hmac.compare_digest(shown, self._token):
            await _refuse(
                scope,
                receive,
                send,
                status=401,
                code="not_authenticated",
                detail=f"{TOKEN_HEADER} does not hold the token of this sandbox host.",
                fix="Copy the file `host-token` of this host's SLIPWAY_HOME to the app server.",
            )
        elif not await asyncio.to_thread(self._is_ours, installation):
            await _refuse(
                scope,
                receive,
                send,
                status=409,
                code="host_of_another_server",
                detail="This sandbox host works for another app server.",
                fix="Set up one host for each app server; or, once that one is gone, remove the file "
                "`installation` of this host's SLIPWAY_HOME.",
            )
        else:
            await self._app(scope, receive, send)

    def _is_ours(self, installation: str) -> bool:
        """Returns whether the calling app server may use this host. `installation`: the id of the calling app
        server. Only the first app server that has called may use the host, because two app servers would end
        each other's sandboxes.
        """
        return not installation or _kept(self._home / "installation", installation) == installation


async def _refuse(
    scope: Scope, receive: Receive, send: Send, *, status: int, code: str, detail: str, fix: str
) -> None:
    if scope["type"] == "websocket":
        await refuse_socket(send)
        return
    response = problem(Request(scope), status=status, code=code, detail=detail, fix=fix)
    await response(scope, receive, send)


def _kept(path: Path, first: str) -> str:
    """Returns the content of the file at `path`. If there is no such file, creates a file with the content
    `first` and returns this content.
    """
    if not path.exists():
        unfinished = path.with_name(f"{path.name}.new")
        unfinished.touch(mode=0o600)
        unfinished.write_text(first + "\n")
        unfinished.replace(path)
    return path.read_text().strip()
