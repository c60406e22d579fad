"""The gateway: the only way from browsers and API clients to the ports of sandboxes. Each request reaches the
gateway before all other parts of the app server.

The gateway answers or forwards all requests to a sandbox's host name and all requests below the path of a
link. Such requests never reach Slipway's routes and files, and Slipway's cookies are not sent to the sandbox.
"""

import logging
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit
from uuid import UUID

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_runtime.relay.http import relay_http
from agent_runtime.relay.sockets import refuse_socket, relay_socket
from agent_runtime.relay.target import Header, Target, TargetSilentError, first
from agent_runtime.time_limits import time_limit
from agent_runtime.wire import NOT_ANSWERED_HEADER, relay_path
from app_server.access.credentials_in_use import CredentialEnded
from app_server.access.permissions import Permission
from app_server.agent_client.client import AgentClient
from app_server.core.config import Config
from app_server.core.database import UNAVAILABLE, now, on_database_error
from app_server.core.errors import AppError, BadGateway, Conflict, Forbidden, Gone, NotAuthenticated
from app_server.gateway import agent_keys, agent_server, links
from app_server.gateway.headers import (
    PREVIEW_COOKIES,
    SHARED_WITH_OPAQUE_ORIGINS,
    reply_headers,
    request_headers,
)
from app_server.gateway.links import PreviewGrant
from app_server.gateway.pages import refusal
from app_server.gateway.preview_origins import OPEN_PATH, Below, OwnName, PreviewLocation, PreviewOrigins
from app_server.gateway.rewriting import Addition, rewriting, unpacked, wants_page
from app_server.gateway.schemas import PLUGINS_OF_PORTS
from app_server.gateway.separate_host_names import needs_name, needs_name_problem
from app_server.http.middleware import RequestContext, is_safe
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.runtime_plugins import require_offered

logger = logging.getLogger(__name__)

_CLOSE_POLICY = 1008
_PREVIEW_LOCATION = "slipway.preview_location"
_NOT_LISTENING = "port_not_listening"


class Gateway:
    def __init__(self, app: ASGIApp, *, config: Config) -> None:
        self._app = app
        self._config = config
        self._preview_origins = PreviewOrigins(config)
        self._previews = RequestContext(self._serve, page_headers={})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        location = self._preview_origins.find(scope) if scope["type"] in {"http", "websocket"} else None
        if location is None:
            await self._app(scope, receive, send)
        else:
            await self._previews({**scope, _PREVIEW_LOCATION: location}, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection, location = HTTPConnection(scope), scope[_PREVIEW_LOCATION]
        try:
            response = await self._answer(connection, location)
            if response is None:
                await self._relay(connection, location, receive, send)
                return
        except AppError as error:
            logger.info("preview refused", extra={"code": error.code, "status": error.status})
            if scope["type"] == "websocket":
                await refuse_socket(send)
                return
            response = refusal(Request(scope), error, " ".join(self._framed_by(location)))
        except UNAVAILABLE as error:
            if scope["type"] == "websocket":
                await refuse_socket(send)
                return
            response = await on_database_error(Request(scope), error)
        await response(scope, receive, send)

    async def _answer(self, connection: HTTPConnection, location: PreviewLocation) -> Response | None:
        """Returns the gateway's own reply, such as to a health check; None if the sandbox must reply."""
        if connection.scope["type"] == "websocket":
            return None
        if isinstance(location, OwnName) and connection.scope["path"] == OPEN_PATH:
            return await self._open(connection, location)
        if isinstance(location, Below) and _is_preflight(connection):
            return _allowed(connection)
        if (sandbox_id := agent_keys.asks_for_health(connection, location)) is not None:
            await self._running(connection, sandbox_id)
            return JSONResponse({"status": "ok"})
        if isinstance(location, Below) and not location.path:
            return RedirectResponse(f"{location.prefix}/", 307, headers={"Referrer-Policy": "no-referrer"})
        return None

    async def _open(self, connection: HTTPConnection, location: OwnName) -> Response:
        """Replies to the first request with a link (a URL that gives access to a port of a sandbox): returns
        a redirect to the page on the port. The response stores the link's token in a cookie for this host
        name only, so that the URL of the page does not contain the token.
        """
        token = connection.query_params.get("token", "")
        grant = links.read(connection.state.cipher, token)
        await require_maker(connection, grant)
        await self._client(connection, grant, location)
        response = RedirectResponse(grant.path, 303)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        # In a frame of our pages this is a third-party cookie. `Partitioned` limits it to our pages; Python's
        # library supports this attribute only from 3.14 on.
        response.headers.append(
            "Set-Cookie",
            f"{self._cookie}={token}; Path=/; Max-Age={_remaining_seconds(grant)}; "
            "Secure; HttpOnly; SameSite=None; Partitioned",
        )
        return response

    async def _relay(
        self, connection: HTTPConnection, location: PreviewLocation, receive: Receive, send: Send
    ) -> None:
        grant = self._grant(connection, location)
        await require_maker(connection, grant)
        client = await self._client(connection, grant, location)
        if grant.to_agent_server and isinstance(location, Below):
            await _require_allowed(connection, grant, location)
            await require_conversation(connection, grant)
        await _require_shown_there(client, grant, location)
        scope = connection.scope
        target = _target(connection, location, grant, client)
        if addition := _addition(connection, location, grant):
            target = replace(target, headers=unpacked(target.headers))
            send = rewriting(send, addition)
        framed_by = self._framed_by(location)

        def on_reply(_status: int, headers: list[Header]) -> list[Header]:
            if code := first(headers, NOT_ANSWERED_HEADER.lower().encode()):
                raise _not_answered(code.decode("latin-1"), grant.port)
            return reply_headers(headers, location, grant.port, framed_by)

        try:
            async with (
                connection.state.credentials_in_use.hold(grant.made_by, Permission.WORK),
                time_limit(_remaining_seconds(grant)),
            ):
                if scope["type"] == "websocket":
                    await relay_socket(target, scope, receive, send)
                    return
                transport = connection.state.relay_transport
                relay = partial(relay_http, transport, target, scope, receive, send, on_reply)
                try:
                    await relay()
                except BadGateway as error:
                    await _start_plugin(connection, client, grant, location, error)
                    await relay()
        except TargetSilentError as error:
            raise _unreachable(str(error)) from error
        except (TimeoutError, CredentialEnded):
            logger.info("a link ended while it was in use", extra={"sandbox_id": grant.sandbox_id.hex})
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": _CLOSE_POLICY, "reason": "link_expired"})

    def _grant(self, connection: HTTPConnection, location: PreviewLocation) -> PreviewGrant:
        if isinstance(location, Below):
            sandbox_id = agent_keys.sandbox_of(location.token)
            if sandbox_id is not None:
                return agent_keys.read(connection.state.cipher, connection, sandbox_id)
            return links.read(connection.state.cipher, location.token)
        token = connection.cookies.get(self._cookie)
        if token is None:
            raise NotAuthenticated(
                "This page can be opened only with a link.",
                code="link_required",
                fix="Open the port in Slipway, or ask its owner for a new link: an old one may have expired.",
            )
        _require_own_page(connection, location)
        return links.read(connection.state.cipher, token)

    async def _client(
        self, connection: HTTPConnection, grant: PreviewGrant, location: PreviewLocation
    ) -> AgentClient:
        """Returns the object that calls the agent server of the sandbox to which `grant` (a link's or key's
        access) belongs. Raises Gone `link_expired` if `location` is a host name that the link does not open,
        or if the link's sandbox was deleted. Raises NotAuthenticated `session_key_invalid` if the key's
        sandbox was deleted. Raises Conflict `sandbox_not_running` if the sandbox does not run.
        """
        if isinstance(location, OwnName) and (
            grant.to_agent_server or (grant.sandbox_id, grant.port) != (location.sandbox_id, location.port)
        ):
            raise links.expired("This link leads to another page.")
        try:
            return await self._running(connection, grant.sandbox_id)
        except Gone:
            if grant.is_key:
                raise agent_keys.ended() from None
            raise

    async def _running(self, connection: HTTPConnection, sandbox_id: UUID) -> AgentClient:
        """Returns the object that calls the sandbox's agent server. Raises Gone `link_expired` if the sandbox
        was deleted. Raises Conflict `sandbox_not_running` if the sandbox does not run.
        """
        try:
            client: AgentClient = connection.state.sandboxes.client(sandbox_id)
        except Conflict:
            async with connection.state.database.read() as session:
                sandbox = await session.get(Sandbox, sandbox_id)
            if sandbox is None:
                raise links.expired("The sandbox of this link is gone.") from None
            raise
        return client

    @property
    def _cookie(self) -> str:
        is_https = self._config.base_url.startswith("https:")
        return PREVIEW_COOKIES[0 if is_https else 1]

    def _framed_by(self, location: PreviewLocation) -> list[str]:
        own_url = urlsplit(self._config.base_url)
        sources = ["'self'", f"{own_url.scheme}://{own_url.netloc}"]
        if self._config.preview_suffix == "localhost":
            port = urlsplit(location.origin).port
            ending = f":{port}" if port else ""
            sources += [f"http://localhost{ending}", f"http://127.0.0.1{ending}"]
        return sources


async def _require_shown_there(client: AgentClient, grant: PreviewGrant, location: PreviewLocation) -> None:
    """Raises Conflict `host_name_needed` if VS Code runs on the port of the link (`grant`) and `location` is
    below a path, because VS Code works only at a separate host name.
    """
    if not (isinstance(location, Below) and needs_name(grant.port)):
        return
    plugin = PLUGINS_OF_PORTS[grant.port]
    # Another program may listen on this port while the plugin does not run.
    if any(one.name == plugin and one.status == "running" for one in await client.runtime_plugins()):
        raise needs_name_problem(grant.port)


async def _start_plugin(
    connection: HTTPConnection,
    client: AgentClient,
    grant: PreviewGrant,
    location: PreviewLocation,
    error: BadGateway,
) -> None:
    """Starts the runtime plugin (such as VS Code) of the link's port after a GET request failed because no
    program listens there. In other cases raises `error`, the failure. Raises Conflict `host_name_needed` if
    the plugin cannot be shown at `location`, Forbidden `runtime_plugin_not_offered` if the sandbox lacks it.
    """
    plugin = PLUGINS_OF_PORTS.get(grant.port)
    if plugin is None or connection.scope["method"] != "GET" or error.code != _NOT_LISTENING:
        raise error
    await _require_offered(connection, grant, plugin)
    if isinstance(location, Below) and needs_name(grant.port):
        raise needs_name_problem(grant.port)
    await client.start_runtime_plugin(plugin)


async def _require_allowed(connection: HTTPConnection, grant: PreviewGrant, location: Below) -> None:
    """Checks a request to the agent server. Raises Forbidden `not_by_link` if links and keys do not allow its
    method and path, `other_conversation` if the path names another conversation than the link or key, or
    `runtime_plugin_not_offered` if the request starts a plugin that the sandbox does not have.
    """
    agent_server.require_allowed(_method(connection), location.path, grant.conversation_id)
    if plugin := agent_server.started_plugin(location.path):
        await _require_offered(connection, grant, plugin)


async def require_conversation(connection: HTTPConnection, grant: PreviewGrant) -> None:
    """Raises NotAuthenticated `session_key_invalid` if the link or key is for a deleted conversation."""
    if grant.conversation_id is None:
        return
    async with connection.state.database.read() as session:
        if not await connection.state.works_in(session, grant.sandbox_id, grant.conversation_id):
            raise agent_keys.ended()


async def _require_offered(connection: HTTPConnection, grant: PreviewGrant, plugin: str) -> None:
    """Raises Forbidden `runtime_plugin_not_offered` if the sandbox does not have this plugin."""
    async with connection.state.database.read() as session:
        sandbox = await session.get(Sandbox, grant.sandbox_id)
    if sandbox is not None:
        require_offered(sandbox, plugin)


async def require_maker(connection: HTTPConnection, grant: PreviewGrant) -> None:
    """Checks the API key or browser session that made the access `grant`: it must still be valid and have
    the permission `work`. If not, raises Gone `link_expired` if the access was given by a link, or
    NotAuthenticated `session_key_invalid` if the access was given by a key (`gateway/agent_keys.py`).
    """
    try:
        await connection.state.credentials_in_use.require(grant.made_by, Permission.WORK)
    except CredentialEnded:
        if grant.is_key:
            raise agent_keys.ended() from None
        raise links.expired(
            "This link has ended: its maker has signed out or may no longer use it, or its API key has ended."
        ) from None


def _target(
    connection: HTTPConnection, location: PreviewLocation, grant: PreviewGrant, client: AgentClient
) -> Target:
    address = urlsplit(client.url)
    assert address.hostname
    path: bytes = connection.scope["raw_path"]
    if isinstance(location, Below) and not grant.keeps_prefix:
        path = location.path.encode("latin-1")
    query = connection.scope["query_string"]
    headers = request_headers(connection.scope["headers"], location, grant.port, client.session_key)
    way = relay_path(grant.port)
    if grant.to_agent_server:
        way = ""
        query = agent_server.without_key(query)
        headers = agent_server.with_key(headers, client.session_key)
    passage = [(name.lower().encode(), value.encode()) for name, value in client.passage.items()]
    is_https = address.scheme == "https"
    return Target(
        host=address.hostname,
        port=address.port or (443 if is_https else 80),
        path=(address.path + way).encode() + path + (b"?" + query if query else b""),
        headers=[(b"host", address.netloc.encode()), *headers, *passage],
        tls=connection.state.trust_of_hosts if is_https else None,
    )


def _method(connection: HTTPConnection) -> str:
    scope = connection.scope
    return "WEBSOCKET" if scope["type"] == "websocket" else str(scope["method"])


def _addition(connection: HTTPConnection, location: PreviewLocation, grant: PreviewGrant) -> Addition | None:
    """Returns the scripts that make a sandbox's page work at `location`, or None if no scripts are needed.
    None are needed if the request is not for a page, or if the page has a separate host name and is not in a
    frame, or if the page is below a path and its program already uses URLs with this path.
    """
    is_below = isinstance(location, Below)
    program_uses_prefix = is_below and (grant.keeps_prefix or grant.to_agent_server)
    if connection.scope["type"] != "http" or program_uses_prefix:
        return None
    if not wants_page(connection.scope, framed=not is_below):
        return None
    return Addition.of(location.prefix if isinstance(location, Below) else None)


def _require_own_page(connection: HTTPConnection, location: OwnName) -> None:
    """Checks the origin of a request with a link's cookie. Raises Forbidden `origin_not_allowed` if the
    request may change something and was sent by a page that does not belong to the same sandbox.
    """
    origin = connection.headers.get("origin")
    if origin is None or is_safe(connection.scope) or origin == location.origin:
        return
    label, _, suffix = location.origin.partition("//")[2].partition(".")
    theirs, _, their_suffix = origin.partition("//")[2].partition(".")
    if their_suffix == suffix and theirs.partition("-")[2] == label.partition("-")[2]:
        return
    raise Forbidden("This request came from a page of another origin.", code="origin_not_allowed")


def _is_preflight(connection: HTTPConnection) -> bool:
    method = connection.scope["method"]
    return method == "OPTIONS" and "access-control-request-method" in connection.headers


def _allowed(connection: HTTPConnection) -> Response:
    response = Response(status_code=204)
    for name, value in SHARED_WITH_OPAQUE_ORIGINS:
        response.headers[name.decode()] = value.decode()
    response.headers["Access-Control-Allow-Methods"] = connection.headers["access-control-request-method"]
    wanted = connection.headers.get("access-control-request-headers")
    response.headers["Access-Control-Allow-Headers"] = wanted or "*"
    return response


def _remaining_seconds(grant: PreviewGrant) -> int:
    return max(1, int((grant.expires_at - now()).total_seconds()))


def _not_answered(code: str, port: int) -> BadGateway:
    if code == _NOT_LISTENING:
        return BadGateway(
            f"Nothing listens on port {port} of this sandbox.",
            code=code,
            fix="Start the server in the sandbox, then reload this page.",
        )
    if code == "port_failed":
        return BadGateway(f"The server on port {port} of this sandbox gave no answer.", code=code)
    return _unreachable(code)


def _unreachable(reason: str) -> BadGateway:
    return BadGateway(
        f"The sandbox's agent server does not answer: {reason}",
        code="agent_server_error",
        fix="Try again in a moment: Slipway restarts a sandbox that has stopped.",
    )
