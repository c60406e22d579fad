"""Gives clients access to any port of this sandbox through the server's port: requests to
`/api/ports/PORT/relay/…` are forwarded to the program on that port.

The relay handles a request before all other parts of the server, so that the program receives the request
unchanged.
"""

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_runtime.relay.http import new_transport, relay_http
from agent_runtime.relay.sockets import refuse_socket, relay_socket
from agent_runtime.relay.target import Header, Target, TargetSilentError, end_to_end, first, without
from agent_runtime.server.errors import ServerProblem, problem_response
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.server.ports.listeners import hosts_of
from agent_runtime.wire import NOT_ANSWERED_HEADER, RELAY_KEY_HEADER
from agent_runtime.workspace.network import dial
from agent_runtime.workspace.users import has_command_namespaces

_PATH = re.compile(rb"/api/ports/(\d{1,5})/relay(/.*)")
_KEY = RELAY_KEY_HEADER.lower().encode()
_NOT_ANSWERED = NOT_ANSWERED_HEADER.lower().encode()


class PortConnections:
    """A pool of open connections to programs of the sandbox. It is created at its first use, because it needs
    megabytes of memory.
    """

    def __init__(self) -> None:
        self.dial = dial if has_command_namespaces() else None
        self._transport: httpx.AsyncHTTPTransport | None = None

    @property
    def transport(self) -> httpx.AsyncHTTPTransport:
        if self._transport is None:
            self._transport = new_transport(no_tls=True, dial=self.dial)
        return self._transport

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()


class PortRelay:
    """The ASGI middleware that forwards a request for a port of the sandbox to the program on that port, and
    passes all other requests on to `app`. A forwarded request needs a valid session key (a key that clients
    must send). A server that has no session keys refuses all requests for ports.
    """

    def __init__(self, app: ASGIApp, state: Any) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["raw_path"]) if scope["type"] in {"http", "websocket"} else None
        if match is None:
            await self._app(scope, receive, send)
            return
        try:
            self._authenticate(scope)
            await self._relay(int(match[1]), match[2], scope, self._noticing(receive), send)
        except ServerProblem as problem:
            await _refuse(problem, scope, receive, send)

    def _authenticate(self, scope: Scope) -> None:
        keys: SessionKeys = self._state.session_keys
        given = first(scope["headers"], _KEY)
        is_accepted = keys.judge((given or b"").decode("latin-1")) == "accepted"
        if keys.present is None or not is_accepted:
            raise ServerProblem(
                401, "not_authenticated", f"A port needs a session key in {RELAY_KEY_HEADER}."
            )

    def _noticing(self, receive: Receive) -> Receive:
        """Wraps the ASGI function `receive`, which returns the next message of a request. The returned
        function does the same, and at each call also records that the sandbox is in use. So the sandbox does
        not count as idle while clients use its ports.
        """

        async def receive_and_notice() -> Message:
            self._state.registry.last_activity = time.monotonic()
            return await receive()

        return receive_and_notice

    async def _relay(self, port: int, path: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        socket = self._state.runtime_plugins.socket_at(port)
        if socket is not None:
            await self._relay_to_plugin(port, socket, path, scope, receive, send)
            return
        hosts = await asyncio.to_thread(hosts_of, port)
        if not hosts:
            raise ServerProblem(
                502,
                "port_not_listening",
                f"Nothing listens on port {port} of this sandbox.",
                "Start the server there, then try again.",
            )
        for host in hosts:
            connections: PortConnections = self._state.port_connections
            target = Target(host, port, path + _query(scope), _headers(scope, port), dial=connections.dial)
            try:
                if scope["type"] == "websocket":
                    await relay_socket(target, scope, receive, send)
                else:
                    await relay_http(connections.transport, target, scope, receive, send, _reply_headers)
            except TargetSilentError as error:
                if error.was_reached or host is hosts[-1]:
                    raise ServerProblem(
                        502, "port_failed", f"Port {port} of this sandbox gave no answer: {error}"
                    ) from error
                continue
            return

    async def _relay_to_plugin(
        self, port: int, socket: Path, path: bytes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        target = Target("localhost", port, path + _query(scope), _headers(scope, port), socket)
        try:
            if scope["type"] == "websocket":
                await relay_socket(target, scope, receive, send)
                return
            async with new_transport(socket) as transport:
                await relay_http(transport, target, scope, receive, send, _reply_headers)
        except TargetSilentError as error:
            raise ServerProblem(
                502, "port_failed", f"Port {port} of this sandbox gave no answer: {error}"
            ) from error


def _query(scope: Scope) -> bytes:
    query: bytes = scope["query_string"]
    return b"?" + query if query else b""


def _headers(scope: Scope, port: int) -> list[Header]:
    """Returns the headers of the request that is sent to the program on the port. They are the client's
    headers without the session key. The Host header names `localhost`, because development servers often
    accept only this host name.
    """
    headers = without(end_to_end(scope["headers"]), (b"host", _KEY))
    return [(b"host", f"localhost:{port}".encode()), *headers]


def _reply_headers(_status: int, headers: list[Header]) -> list[Header]:
    return without(headers, (_NOT_ANSWERED,))


async def _refuse(problem: ServerProblem, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await refuse_socket(send)
        return
    headers = {NOT_ANSWERED_HEADER: problem.code}
    await problem_response(Request(scope), problem, headers=headers)(scope, receive, send)
