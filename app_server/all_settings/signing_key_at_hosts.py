"""HTTP routes that help a git host verify signed commits. They add the user's signing key to the user's
account at the host, and check the e-mail address of this account.
"""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.commit_signing.models import CommitSigningKey
from app_server.commit_signing.service import require_address
from app_server.commit_signing.signature import fingerprint
from app_server.core.database import ServerDatabase
from app_server.core.errors import Conflict
from app_server.core.server_objects import ServerConfig
from app_server.git.provider_routes import checked_origin
from app_server.git_hosts.routes import CurrentGitHosts
from app_server.git_hosts.verified_addresses import knows_address
from app_server.http.strict_body import StrictBody

router = APIRouter(prefix="/api/v1/settings/commit-signing", tags=["Settings"])


class AddSigningKey(StrictBody):
    """The request body that adds the user's signing key to the user's account at a git host. host: a git host
    for which the user has stored a token, such as `github.com`.
    """

    host: str = Field(min_length=1, max_length=300)


class AddedSigningKey(BaseModel):
    """The reply after the signing key was added to the user's account at a git host. is_new: false if the
    account had the key already.
    """

    is_new: bool


class CommitAddress(BaseModel):
    """The reply with the e-mail address of the user's commits. is_verified: whether the address is a verified
    address of the user's account at the git host; null if the host does not say this, or if the token may not
    read the addresses.
    """

    address: str
    is_verified: bool | None


@router.get("/hosts/address")
async def get_commit_address(
    user: CurrentUser,
    hosts: CurrentGitHosts,
    database: ServerDatabase,
    host: Annotated[str, Query(min_length=1, max_length=300)],
) -> CommitAddress:
    """Asks a git host whether the e-mail address of the user's commits is a verified address of the user's
    account at this host. If the address is not verified, the host shows signed commits as unverified.

    host: a git host for which the user has stored a token, such as `github.com`. Only GitHub, GitLab, Forgejo
    and Gitea can answer this question. 409 `commit_identity_missing` if the user has set no address for
    commits. 403 `no_git_credential` if the user has no token for the host.
    """
    # A session that ends before the host is asked.
    async with database.read() as session:
        address = str((await require_address(session, user.id)).git_user_email)
        connected = await hosts.at(session, checked_origin(host))
    return CommitAddress(address=address, is_verified=await knows_address(connected.client, address))


@router.post("/hosts")
async def add_signing_key(
    user: CurrentUser,
    trail: CurrentTrail,
    hosts: CurrentGitHosts,
    body: AddSigningKey,
    database: ServerDatabase,
    config: ServerConfig,
) -> AddedSigningKey:
    """Adds the public signing key to the user's account at a git host, with the user's token for this host.
    Works only at GitHub and GitLab; at other hosts, the user must add the key in the host's own settings. 409
    `commit_signing_off` if the user has no signing key. 400 `git_host_cannot` at other hosts than GitHub and
    GitLab. 403 `no_git_credential` if the user has no token for the host. 403 `git_host_forbidden` if the
    token may not add keys.
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
