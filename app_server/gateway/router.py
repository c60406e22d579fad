"""Routes with which the owner of a sandbox lists its ports and creates links to these ports."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.credentials_in_use import Credential
from app_server.core.database import now
from app_server.core.errors import Conflict
from app_server.core.server_objects import ServerConfig
from app_server.gateway.exposed_urls import url_of
from app_server.gateway.link_base_paths import find_link_in_use
from app_server.gateway.links import PreviewGrant
from app_server.gateway.preview_origins import has_names, own_origin, prefix_of
from app_server.gateway.schemas import AGENT_SERVER, CreateLink, Link, SandboxPort, SandboxPorts
from app_server.gateway.separate_host_names import needs_name, needs_name_problem
from app_server.sandboxes.service import ServerSandboxes
from app_server.sandboxes.users_sandboxes import find_own

router = APIRouter(prefix="/api/v1/sandboxes", tags=["sandboxes"])


@router.get("/{sandbox_id}/ports")
async def list_ports(
    user: CurrentUser, sandbox_id: UUID, sandboxes: ServerSandboxes, request: Request
) -> SandboxPorts:
    """Returns the ports on which processes of the user's sandbox listen now."""
    await find_own(request, user, sandbox_id)
    found = await sandboxes.client(sandbox_id).ports()
    return SandboxPorts(ports=[SandboxPort(**one.model_dump()) for one in found])


@router.post("/{sandbox_id}/links", status_code=201)
async def create_link(
    principal: CurrentPrincipal, sandbox_id: UUID, body: CreateLink, config: ServerConfig, request: Request
) -> Link:
    """Creates a link to one port of a sandbox and returns it. All people who have the link can open the port.

    The link becomes invalid at its expiry time, when the sandbox is deleted, and when the user who created it
    signs out or deletes the API key with which the link was created. 409 `host_name_needed` for a link to VS
    Code if ports have no separate host names.
    """
    await find_own(request, principal.user, sandbox_id)
    if body.name and needs_name(body.number) and not has_names(config, request.headers["host"]):
        raise needs_name_problem(body.number)
    if (found := await _link_in_use(request, sandbox_id, body, principal.credential)) is not None:
        return found
    grant = PreviewGrant(
        sandbox_id=sandbox_id,
        port=body.number,
        path=body.path,
        keeps_prefix=body.keeps_prefix or False,
        expires_at=(now() + timedelta(seconds=body.lifetime_seconds)).replace(microsecond=0),
        made_by=principal.credential,
        to_agent_server=body.name == AGENT_SERVER,
    )
    return Link(url=url_of(request, grant), expires_at=grant.expires_at, keeps_prefix=grant.keeps_prefix)


async def _link_in_use(
    request: Request, sandbox_id: UUID, body: CreateLink, made_by: Credential
) -> Link | None:
    """Returns an existing link to this port if the program on the port already serves its pages below the
    path of that link. Returns None if no such link exists, or if the sandbox or the program does not run.

    Returns None without a search in three cases: the request sets `keeps_prefix`; the request names the port
    by its name and not by its number; each port has a separate host name, so that links have no paths.
    """
    state, asked_at = request.state, request.headers["host"]
    if body.keeps_prefix is not None or body.name or has_names(state.config, asked_at):
        return None
    try:
        client = state.sandboxes.client(sandbox_id)
    except Conflict:
        return None  # it sleeps: the base path of its program is read when the link is made again
    found = await find_link_in_use(
        state.cipher, client, port=body.number, made_by=made_by, sandbox_id=sandbox_id
    )
    if found is None:
        return None
    url = f"{own_origin(state.config, asked_at)}{prefix_of(found.token)}{body.path}"
    return Link(url=url, expires_at=found.grant.expires_at, keeps_prefix=True)
