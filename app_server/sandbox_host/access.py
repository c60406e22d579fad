"""Controls access to this sandbox host (a machine that runs sandboxes for an app server). A request must
contain the host's token, and must come from the app server that was the first to call this host.
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
"""The description of the host's token for the OpenAPI document. It checks nothing; `HostAuthentication`
checks the token in requests.
"""
OPEN_PATH = "/health"


def host_token(home: Path) -> str:
    """Returns the host's token from the file `host-token` in the directory `home`. Creates the file with a
    random token if there is no file. Only the owner of the file can read it. Blocks the thread.
    """
    return _read_or_create(home / "host-token", secrets.token_urlsafe(32))


class HostAuthentication:
    """Middleware that checks requests to this sandbox host. A request must contain the host's token, and must
    come from the app server that was the first to send its id to this host. Replies 401 to HTTP requests
    without the token. Replies 409 to HTTP requests with the id of another app server. Refuses WebSockets for
    the same reasons. `/health` needs no token.
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
        server, or an empty text if the request contains no id.

        Stores the first id that is sent to this host. From then on, other ids are refused, because two app
        servers that use one host would end each other's sandboxes. A request without an id is accepted, and
        no id is stored.
        """
        return not installation or _read_or_create(self._home / "installation", installation) == installation


async def _refuse(
    scope: Scope, receive: Receive, send: Send, *, status: int, code: str, detail: str, fix: str
) -> None:
    if scope["type"] == "websocket":
        await refuse_socket(send)
        return
    response = problem(Request(scope), status=status, code=code, detail=detail, fix=fix)
    await response(scope, receive, send)


def _read_or_create(path: Path, first: str) -> str:
    """Returns the content of the file at `path`. If there is no such file, first creates it with the content
    `first`. Only the owner of the file can read it.
    """
    if not path.exists():
        unfinished = path.with_name(f"{path.name}.new")
        unfinished.touch(mode=0o600)
        unfinished.write_text(first + "\n")
        unfinished.replace(path)
    return path.read_text().strip()
