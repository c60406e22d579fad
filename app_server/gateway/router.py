"""Which ports a sandbox has, and links to them: for its owner."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.database import now
from app_server.gateway.exposed import url_of
from app_server.gateway.links import Grant
from app_server.gateway.schemas import AGENT_SERVER, CreateLink, Link, SandboxPort, SandboxPorts
from app_server.sandboxes.own import find_own
from app_server.users.auth import Authentication, CurrentUser

router = APIRouter(prefix="/api/v1/sandboxes", tags=["sandboxes"])


@router.get("/{sandbox_id}/ports")
async def list_ports(user: CurrentUser, sandbox_id: UUID, request: Request) -> SandboxPorts:
    """The ports on which processes of the sandbox listen at this moment."""
    await find_own(request, user, sandbox_id)
    found = await request.state.sandboxes.client(sandbox_id).ports()
    return SandboxPorts(ports=[SandboxPort(**one.model_dump()) for one in found])


@router.post("/{sandbox_id}/links", status_code=201)
async def create_link(
    authentication: Authentication, sandbox_id: UUID, body: CreateLink, request: Request
) -> Link:
    """A link that opens one port to all who have it. It ends by itself, when the sandbox is deleted, and when
    its maker signs out or deletes the API key it was made with.
    """
    await find_own(request, authentication.user, sandbox_id)
    grant = Grant(
        sandbox_id=sandbox_id,
        port=body.number,
        path=body.path,
        keeps_prefix=body.keeps_prefix,
        expires_at=(now() + timedelta(seconds=body.lifetime_seconds)).replace(microsecond=0),
        made_by=authentication.credential,
        to_agent_server=body.name == AGENT_SERVER,
    )
    return Link(url=url_of(request, grant), expires_at=grant.expires_at)
