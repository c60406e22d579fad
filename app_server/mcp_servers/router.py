"""The current user's MCP servers. The values of their headers can be set and replaced, never read."""

from fastapi import APIRouter, Request

from app_server.database import Database, ReadSession, Session
from app_server.errors import Conflict
from app_server.mcp_servers import service
from app_server.mcp_servers.probe import probe
from app_server.mcp_servers.schemas import (
    ChangeMcpServer,
    McpServerInfo,
    McpSettings,
    McpTestReport,
    SaveMcpServer,
    ServerNameInPath,
)
from app_server.users.auth import CurrentUser

router = APIRouter(prefix="/api/v1/settings/mcp", tags=["MCP servers"])


@router.get("")
async def list_servers(user: CurrentUser, session: ReadSession, request: Request) -> McpSettings:
    servers = await service.list_servers(session, user.id)
    return McpSettings(
        mcp_config={server.name: service.info_of(request.state.cipher, server) for server in servers}
    )


@router.post("/{name}", status_code=201)
async def add_server(
    user: CurrentUser, session: Session, name: ServerNameInPath, body: SaveMcpServer, request: Request
) -> McpServerInfo:
    """Conversations that are started from now on have it."""
    cipher = request.state.cipher
    return service.info_of(cipher, await service.add_server(session, cipher, user.id, name, body))


@router.patch("/{name}")
async def change_server(
    user: CurrentUser, session: Session, name: ServerNameInPath, body: ChangeMcpServer, request: Request
) -> McpServerInfo:
    """What is left out stays. Headers and address hold from the next call of any conversation on."""
    cipher = request.state.cipher
    changes = body.model_extra or {}
    return service.info_of(cipher, await service.change_server(session, cipher, user.id, name, changes))


@router.delete("/{name}", status_code=204)
async def delete_server(user: CurrentUser, session: Session, name: ServerNameInPath) -> None:
    """Conversations that have it cannot reach it any more."""
    await service.delete_server(session, user.id, name)


@router.post("/{name}/test")
async def test_server(user: CurrentUser, name: ServerNameInPath, request: Request) -> McpTestReport:
    """Reaches the server and lists its tools. A server that cannot be reached is an answer, too: 200."""
    database: Database = request.state.database
    # Closed before the server is asked: it may take its time.
    async with database.read() as session:
        server = await service.get_server(session, user.id, name)
    definition = service.definition_of(request.state.cipher, server)
    if definition.url is None:
        raise Conflict(
            "This server is a command that runs in the sandbox of a conversation, not here.",
            code="mcp_server_runs_in_sandbox",
            fix="Start a conversation: it says which tools the server offers, or why it does not start.",
        )
    return await probe(definition.url, definition.headers)
