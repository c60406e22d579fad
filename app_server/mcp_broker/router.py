"""Routes through which a sandbox calls the MCP servers of its user. The app server adds the user's
credentials to each call, so the sandbox never sees them.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from uuid import UUID

import httpx
from fastapi import APIRouter, Request, Response

from app_server.core.database import ServerDatabase
from app_server.core.encryption import ServerCipher
from app_server.core.errors import NotFound
from app_server.mcp_broker.pass_through import UpstreamServer, pass_through
from app_server.mcp_servers.grants import Grants, bearer
from app_server.mcp_servers.in_effect import server_for
from app_server.mcp_servers.schemas import ServerNameInPath
from app_server.mcp_servers.service import definition_of
from app_server.sandboxes.auth import CurrentSandbox
from app_server.teams.repositories.first_team import put_team_of_sandbox_first
from app_server.users.models import User
from app_server.users.outgoing import http_of

router = APIRouter(prefix="/mcp", tags=["MCP broker"])


def broker_url(inner_url: str, name: str) -> str:
    """Returns the address of the app server at which sandboxes call the MCP server with this name.
    `inner_url`: the address at which sandboxes reach the app server.
    """
    return f"{inner_url.rstrip('/')}{router.prefix}/{name}"


@router.post("/{name}")
@router.get("/{name}")
@router.delete("/{name}")
async def exchange(
    name: ServerNameInPath,
    sandbox: CurrentSandbox,
    database: ServerDatabase,
    cipher: ServerCipher,
    request: Request,
) -> Response:
    """Passes an MCP request (streamable HTTP) of a sandbox on to an MCP server and streams the reply back.
    `name`: the name under which the sandbox's user, a team of the user or the organisation has added the
    server.

    The server may have a private address if it belongs to the default organisation or to a team of this
    organisation. Such addresses are trusted, because administrators of the installation have set them.

    404 `mcp_server_not_found` if there is no server with this name. 404 `mcp_server_off` if the server is
    switched off, or if it is a command in the sandbox and so has no address.
    """
    # The session is closed before the server is called: a stream may stay open for hours.
    async with database.read() as session:
        await put_team_of_sandbox_first(session, sandbox.id)
        server = await server_for(session, sandbox.user_id, name)
        user = await session.get_one(User, sandbox.user_id)
    definition = definition_of(cipher, server)
    if not server.is_enabled or definition.url is None:
        raise NotFound(
            f"The MCP server {name!r} is switched off.",
            code="mcp_server_off",
            fix="Switch it on in the settings.",
        )
    target = UpstreamServer(
        name=name, url=definition.url, headers=definition.headers, timeout_seconds=definition.timeout
    )
    http: httpx.AsyncClient = (
        request.state.http if server.is_given and user.is_of_default_organisation else http_of(request, user)
    )
    if definition.auth is not None:
        target = await _signed_in(target, server.id, request.state.mcp_grants, http)
    with request.state.mcp_exchanges.of(sandbox.id) as slot:
        return await pass_through(http, target, request, slot)


async def _signed_in(
    target: UpstreamServer, server_id: UUID, grants: Grants, http: httpx.AsyncClient
) -> UpstreamServer:
    token = await grants.access_token(http, server_id, target.name, target.url)

    async def renewed() -> Mapping[str, str]:
        anew = await grants.access_token(http, server_id, target.name, target.url, refused=token)
        return {**target.headers, **bearer(anew)}

    return replace(
        target,
        headers={**target.headers, **bearer(token)},
        renewed=renewed,
        want=partial(grants.want, server_id),
    )
