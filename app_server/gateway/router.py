"""Which ports a sandbox has, and links to them: for its owner."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Request

from app_server.database import now
from app_server.gateway import links
from app_server.gateway.links import Grant
from app_server.gateway.places import OPEN_PATH, origin_of_port, own_origin, prefix_of
from app_server.gateway.schemas import CreateLink, Link, SandboxPort, SandboxPorts
from app_server.sandboxes.own import find_own
from app_server.users.auth import CurrentUser

router = APIRouter(prefix="/api/v1/sandboxes", tags=["sandboxes"])


@router.get("/{sandbox_id}/ports")
async def list_ports(user: CurrentUser, sandbox_id: UUID, request: Request) -> SandboxPorts:
    """The ports on which processes of the sandbox listen at this moment."""
    await find_own(request, user, sandbox_id)
    found = await request.state.sandboxes.client(sandbox_id).ports()
    return SandboxPorts(ports=[SandboxPort(**one.model_dump()) for one in found])


@router.post("/{sandbox_id}/links", status_code=201)
async def create_link(user: CurrentUser, sandbox_id: UUID, body: CreateLink, request: Request) -> Link:
    """A link that opens one port to whoever has it. It ends by itself, and when the sandbox is deleted."""
    await find_own(request, user, sandbox_id)
    grant = Grant(
        sandbox_id=sandbox_id,
        port=body.number,
        path=body.path,
        keeps_prefix=body.keeps_prefix,
        expires_at=(now() + timedelta(seconds=body.lifetime_seconds)).replace(microsecond=0),
    )
    token = links.sign(request.state.cipher, grant)
    asked_at = request.headers["host"]
    origin = origin_of_port(request.state.config, sandbox_id, grant.port, asked_at)
    url = (
        f"{own_origin(request.state.config, asked_at)}{prefix_of(token)}{grant.path}"
        if origin is None
        else f"{origin}{OPEN_PATH}?{urlencode({'token': token})}"
    )
    return Link(url=url, expires_at=grant.expires_at)
