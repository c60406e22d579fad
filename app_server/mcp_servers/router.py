"""Routes with which users manage their own MCP servers. The routes can set and replace the values of headers
and variables. No route returns these values.
"""

from fastapi import APIRouter, Request

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.config import Config
from app_server.core.database import Database, ReadSession, Session
from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict
from app_server.mcp_servers import service
from app_server.mcp_servers.grants import Grants, bearer
from app_server.mcp_servers.probe import probe
from app_server.mcp_servers.schemas import (
    ChangeMcpServer,
    FinishSignIn,
    McpServerInfo,
    McpSettings,
    McpTestReport,
    SaveMcpServer,
    ServerNameInPath,
    SignedIn,
    SignInStarted,
)
from app_server.mcp_servers.sign_in import AuthorizationResponse, SignIns
from app_server.users.outgoing import http_of, require_callable, server_guard_of

router = APIRouter(prefix="/api/v1/settings/mcp", tags=["MCP servers"])
sign_in_router = APIRouter(prefix="/api/v1/mcp-sign-ins", tags=["MCP servers"])


@router.get("")
async def list_servers(user: CurrentUser, session: ReadSession, request: Request) -> McpSettings:
    servers = await service.list_servers(session, user.id)
    return McpSettings(mcp_config=await service.infos_of(session, request.state.cipher, servers))


@router.post("/{name}", status_code=201)
async def add_server(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    name: ServerNameInPath,
    body: SaveMcpServer,
    request: Request,
) -> McpServerInfo:
    """Adds an MCP server of the user and returns it. Conversations that start from now on can use the
    server.
    """
    cipher = request.state.cipher
    server = await service.add_server(session, cipher, user.id, name, body)
    trail.record(session, AuditAction.MCP_SERVER_CHANGED, (AuditTarget.MCP_SERVER, name), change="added")
    return await service.info_of(session, cipher, server)


@router.patch("/{name}")
async def change_server(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    name: ServerNameInPath,
    body: ChangeMcpServer,
    request: Request,
) -> McpServerInfo:
    """Changes an MCP server of the user and returns it. Fields that are left out are not changed. From now
    on, the calls of all conversations use the new headers and the new address.
    """
    cipher = request.state.cipher
    changes = body.model_extra or {}
    server = await service.change_server(session, cipher, user.id, name, changes)
    target = (AuditTarget.MCP_SERVER, name)
    fields = sorted(changes)
    trail.record(session, AuditAction.MCP_SERVER_CHANGED, target, change="changed", fields=fields)
    return await service.info_of(session, cipher, server)


@router.delete("/{name}", status_code=204)
async def delete_server(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: ServerNameInPath
) -> None:
    """Deletes an MCP server of the user. Conversations that use the server cannot reach it any more."""
    await service.delete_server(session, user.id, name)
    trail.record(session, AuditAction.MCP_SERVER_DELETED, (AuditTarget.MCP_SERVER, name))


@router.post("/{name}/test")
async def test_server(user: CurrentUser, name: ServerNameInPath, request: Request) -> McpTestReport:
    """Tests an MCP server: connects to it and returns a report with its tools. If the server cannot be
    reached, the HTTP status is also 200, and the report gives the reason.

    409 `mcp_server_runs_in_sandbox` if the server is a command.
    """
    database: Database = request.state.database
    # The session is closed before the server is called: a slow server must not hold it open.
    async with database.read() as session:
        server = await service.get_server(session, user.id, name)
    definition = service.definition_of(request.state.cipher, server)
    if definition.url is None:
        raise Conflict(
            "This server is a command that runs in the sandbox of a conversation, not here.",
            code="mcp_server_runs_in_sandbox",
            fix="Start a conversation: it says which tools the server offers, or why it does not start.",
        )
    await require_callable(request, user, definition.url)
    headers = dict(definition.headers)
    if definition.auth is not None:
        grants: Grants = request.state.mcp_grants
        headers |= bearer(await grants.access_token(http_of(request, user), server.id, name, definition.url))
    return await probe(definition.url, headers, guard=server_guard_of(request, user, definition.url))


@router.post("/{name}/sign-in")
async def start_sign_in(user: CurrentUser, name: ServerNameInPath, request: Request) -> SignInStarted:
    """Starts an OAuth sign-in of the user to an MCP server: finds the server's authorization server and
    registers Slipway there.

    Returns the address that the user's browser must open. If the MCP server has refused a call because of a
    missing scope, the sign-in asks for that scope too.
    """
    database: Database = request.state.database
    sign_ins: SignIns = request.state.mcp_sign_ins
    async with database.read() as session:
        server = await service.get_server(session, user.id, name)
        scope = await service.wanted_scope(session, request.state.cipher, server)
    definition = service.definition_of(request.state.cipher, server)
    if definition.url is None or definition.auth is None:
        raise Conflict("This server is set up without a sign-in.", code="mcp_sign_in_not_wanted")
    await require_callable(request, user, definition.url)
    guard = server_guard_of(request, user, definition.url)
    address = await sign_ins.start(user.id, server.id, definition.url, _callback_url(request), guard, scope)
    return SignInStarted(authorization_url=address)


@router.delete("/{name}/sign-in", status_code=204)
async def disconnect(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: ServerNameInPath
) -> None:
    """Deletes the tokens of the user's sign-in to an MCP server. Conversations cannot reach the server until
    the user signs in again.
    """
    await service.disconnect(session, await service.get_server(session, user.id, name))
    trail.record(
        session, AuditAction.MCP_SERVER_CHANGED, (AuditTarget.MCP_SERVER, name), change="disconnected"
    )


@sign_in_router.post("")
async def finish_sign_in(
    user: CurrentUser, trail: CurrentTrail, body: FinishSignIn, request: Request
) -> SignedIn:
    """Finishes a sign-in to an MCP server with the URL parameters that the browser brings back, and returns
    the name of the server. A sign-in can be finished once, by the user who started it, within ten minutes.
    """
    database: Database = request.state.database
    cipher: Cipher = request.state.cipher
    sign_ins: SignIns = request.state.mcp_sign_ins
    answer = AuthorizationResponse(body.state, body.code, body.error, body.iss)
    finished = await sign_ins.finish(user.id, answer)
    async with database.session() as session:
        name = await service.connect(session, cipher, user.id, finished)
        trail.record(
            session, AuditAction.MCP_SERVER_CHANGED, (AuditTarget.MCP_SERVER, name), change="connected"
        )
    return SignedIn(name=name)


def _callback_url(request: Request) -> str:
    """Returns the address of the Slipway page to which the authorization server sends the browser back after
    a sign-in. If no public URL is configured, the address has the host name that the browser uses.
    """
    config: Config = request.state.config
    base = config.base_url if config.public_url else str(request.base_url).rstrip("/")
    return f"{base}/settings/mcp-servers/callback"
