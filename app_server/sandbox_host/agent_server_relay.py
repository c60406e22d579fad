"""Forwards HTTP requests and WebSockets of the app server to the agent servers of this host's sandboxes.

The agent servers have no port that is open on the network. The app server therefore sends a request below
`/v1/sandboxes/ID/agent` to this host, and the host forwards the request to the agent server of that sandbox.
"""

import re
from uuid import UUID

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_runtime.relay.http import new_transport, relay_http
from agent_runtime.relay.sockets import refuse_socket, relay_socket
from agent_runtime.relay.target import Header, Target, TargetSilentError, end_to_end, without
from app_server.core.errors import StartFailure, problem
from app_server.sandbox_backends.docker.backend import DockerBackend
from app_server.sandbox_backends.docker.containers import AGENT_PORT
from app_server.sandbox_backends.remote.wire import INSTALLATION_HEADER, PREFIX, TOKEN_HEADER

_BELOW = re.compile(rb"%s/sandboxes/([0-9a-fA-F-]{32,36})/agent(/.*)" % PREFIX.encode(), re.DOTALL)
_OURS = (b"host", TOKEN_HEADER.lower().encode(), INSTALLATION_HEADER.lower().encode())


class AgentRelay:
    """Middleware that forwards requests below `/v1/sandboxes/ID/agent` to the agent server of the sandbox
    with this id. Passes all other requests on to this host's routes.
    """

    def __init__(self, app: ASGIApp, *, backend: DockerBackend) -> None:
        self._app = app
        self._backend = backend
        self._transport = new_transport(no_tls=True)
        self._addresses: dict[UUID, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _BELOW.fullmatch(scope["raw_path"]) if scope["type"] in {"http", "websocket"} else None
        sandbox_id = _id_of(match[1]) if match else None
        if match is None or sandbox_id is None:
            await self._app(scope, receive, send)
            return
        try:
            target = await self._target(sandbox_id, match[2], scope)
            if scope["type"] == "websocket":
                await relay_socket(target, scope, receive, send)
            else:
                await relay_http(self._transport, target, scope, receive, send, _as_it_is)
        except TargetSilentError as error:
            # The agent server may have a different address now, so the stored address is removed.
            self._addresses.pop(sandbox_id, None)
            await _refuse(scope, receive, send, f"The agent server does not answer: {error}")
        except StartFailure as failure:
            await _refuse(scope, receive, send, failure.cause)

    async def _target(self, sandbox_id: UUID, path: bytes, scope: Scope) -> Target:
        """Returns the target of a forwarded request: the address of the sandbox's agent server, the path, and
        the headers of the request. Leaves out the headers that are only for this host. Raises StartFailure if
        the sandbox does not run.
        """
        if sandbox_id not in self._addresses:
            self._addresses[sandbox_id] = await self._backend.agent_address(sandbox_id)
        address, query = self._addresses[sandbox_id], scope["query_string"]
        host: Header = (b"host", f"{address}:{AGENT_PORT}".encode())
        return Target(
            host=address,
            port=AGENT_PORT,
            path=path + (b"?" + query if query else b""),
            headers=[host, *without(end_to_end(scope["headers"]), _OURS)],
        )


def _id_of(text: bytes) -> UUID | None:
    try:
        return UUID(text.decode())
    except ValueError:
        return None


def _as_it_is(_status: int, headers: list[Header]) -> list[Header]:
    return headers


async def _refuse(scope: Scope, receive: Receive, send: Send, detail: str) -> None:
    if scope["type"] == "websocket":
        await refuse_socket(send)
        return
    response = problem(Request(scope), status=502, code="agent_server_error", detail=detail)
    await response(scope, receive, send)
