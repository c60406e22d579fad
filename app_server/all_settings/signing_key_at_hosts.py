"""The route that adds the signing key of a user to the user's account at a git host."""

from urllib.parse import urlsplit

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.commit_signing.models import CommitSigningKey
from app_server.commit_signing.signature import fingerprint
from app_server.core.database import ServerDatabase
from app_server.core.errors import Conflict
from app_server.core.server_objects import ServerConfig
from app_server.git.provider_routes import checked_origin
from app_server.git_hosts.routes import CurrentGitHosts

router = APIRouter(prefix="/api/v1/settings/commit-signing", tags=["Settings"])


class AddSigningKey(BaseModel):
    """host: a git host with a token of the user, as `github.com`."""

    host: str = Field(min_length=1, max_length=300)


class AddedSigningKey(BaseModel):
    """is_new: false if the account had the key already."""

    is_new: bool


@router.post("/hosts")
async def add_signing_key(
    user: CurrentUser,
    trail: CurrentTrail,
    hosts: CurrentGitHosts,
    body: AddSigningKey,
    database: ServerDatabase,
    config: ServerConfig,
) -> AddedSigningKey:
    """Adds the public key to the user's account at a git host, with the user's token. GitHub and GitLab can
    do this.

    409 `commit_signing_off` if there is no key; 400 `git_host_cannot` at other hosts; 403
    `no_git_credential`, and `git_host_forbidden` if the token may not do it. The user can add the key at the
    host instead.
    """
    # A session that ends before the host is asked.
    async with database.read() as session:
        key = await session.get(CommitSigningKey, user.id)
        if key is None:
            raise Conflict(
                "There is no signing key.", code="commit_signing_off", fix="Turn signing on first."
            )
        connected = await hosts.at(session, checked_origin(body.host))
    title = f"Slipway at {urlsplit(config.base_url).netloc}"
    is_new = await connected.client.add_signing_key(title, key.public_key)
    async with database.session() as session:
        target = (AuditTarget.SIGNING_KEY, fingerprint(key.public_key))
        host = connected.origin.removeprefix("https://")
        trail.record(session, AuditAction.COMMIT_SIGNING_CHANGED, target, is_on=key.is_on, added_at=host)
    return AddedSigningKey(is_new=is_new)
