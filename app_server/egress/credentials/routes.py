"""Routes for the credentials that the egress proxy adds to requests of a user's sandboxes. A user can set and
replace the values of credentials, but cannot read them.
"""

from uuid import UUID

from fastapi import APIRouter, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal
from app_server.access.principal import Principal
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.addresses import DEFAULT_PORTS, HostRule
from app_server.core.config import Config
from app_server.core.database import ReadSession, Session
from app_server.core.pagination import Limit, PageId, encode_page_id, page_position
from app_server.egress import settings
from app_server.egress.attribution import AttributionOf
from app_server.egress.credentials import credentials
from app_server.egress.credentials.schemas import (
    NetworkCredential,
    NetworkCredentialUse,
    NetworkCredentialUsePage,
    SaveNetworkCredential,
)
from app_server.egress.models import CredentialScope, EgressCredential
from app_server.egress.router import identity_of
from app_server.egress.settings import OF_USER, Scope
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/settings/network/credentials", tags=["Network"])


@router.get("")
async def list_network_credentials(
    principal: CurrentPrincipal, session: ReadSession, request: Request
) -> list[NetworkCredential]:
    """Returns the credentials that the current user may see, without their values, sorted by host. These are
    the user's credentials. For a user of the default organisation (whose administrators manage the
    installation), the credentials of the server are added.
    """
    found = await credentials.visible(session, principal.user.id)
    return [await _credential_info(session, request.state.config, principal, row) for row in found]


@router.post("", status_code=201)
async def save_network_credential(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    body: SaveNetworkCredential,
    request: Request,
) -> NetworkCredential:
    """Saves a credential for an https host and returns it without its value. Replaces the credential with the
    same scope, repository, host, port and path prefix if there is one. The credential applies from the next
    connection of a sandbox on.

    If `allow` is true, also adds the host to the allowed hosts in the network settings of the user or of the
    repository. 403 for the scope `server` if the user is not the owner of the installation. 403
    `permission_missing` for the scope `server` if the owner's API key lacks the scope `installation`. 403
    `setting_enforced` if an enforced rule denies the host. 409 `too_many_credentials` if the user (or the
    server) already has the maximum number of credentials. 409 `credential_exists` if another request saves
    the same credential at the same time. 409 `too_many_hosts` if too many hosts are allowed already. 422
    `repository_not_found` if `repository` is not a repository.
    """
    user = principal.user
    subject = await _subject(session, user, body.repository) if body.repository else ""
    given = credentials.EnteredCredential(
        host=body.host,
        port=body.port,
        path_prefix=body.path_prefix,
        scope=body.scope,
        subject=subject,
        kind=body.kind,
        header=body.header,
        username=body.username,
        value=body.value.get_secret_value(),
    )
    scope = Scope.of_repository(subject) if subject else OF_USER
    row = await credentials.save(session, request.state.cipher, principal, given)
    trail.record(
        session,
        AuditAction.EGRESS_CREDENTIAL_CHANGED,
        (AuditTarget.NETWORK, row.host),
        scope=row.scope,
        repository=subject or None,
        allows_host=body.allow,
    )
    config: Config = request.state.config
    if (
        body.allow
        and body.scope is not CredentialScope.SERVER
        and not await _is_allowed(session, config, user, row)
    ):
        port = None if body.port in DEFAULT_PORTS else body.port
        await settings.allow(session, user.id, scope, HostRule(body.host, port))
        await session.flush()
    return await _credential_info(session, config, principal, row)


@router.delete("/{credential_id}", status_code=204)
async def delete_network_credential(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, credential_id: UUID
) -> None:
    """Deletes a credential. From the next request on, requests to its host are sent without the credential.
    The host stays an allowed host in the network settings. 403 for a credential of the server if the user is
    not the owner of the installation. 403 `permission_missing` if the owner's API key lacks the scope
    `installation` for this.
    """
    host = await credentials.remove(session, principal, credential_id)
    trail.record(session, AuditAction.EGRESS_CREDENTIAL_DELETED, (AuditTarget.NETWORK, host))


@router.get("/{credential_id}/uses")
async def search_network_credential_uses(
    principal: CurrentPrincipal,
    session: ReadSession,
    credential_id: UUID,
    request: Request,
    page_id: PageId = None,
    limit: Limit = 50,
) -> NetworkCredentialUsePage:
    """Returns a page of the requests that the credential was added to, latest first. The owner of the
    installation gets the requests from all sandboxes; an API key of the owner needs the scope
    `installation` for this. Otherwise, users get only the requests from their sandboxes.
    """
    user = principal.user
    await credentials.require(session, user, credential_id)
    before = page_position(page_id) if page_id else None
    found = await credentials.uses(session, principal, credential_id, before, limit + 1)
    page, more = found[:limit], found[limit:]
    attribution_of: AttributionOf = request.state.attribution_of
    attribution = await attribution_of(session, user.id, [use.sandbox_id for use in page])
    return NetworkCredentialUsePage(
        items=[NetworkCredentialUse.of(use, attribution) for use in page],
        next_page_id=encode_page_id(page[-1].at.isoformat(timespec="microseconds"), page[-1].id.hex)
        if more
        else None,
    )


async def _subject(session: AsyncSession, user: User, repository: str) -> str:
    """Returns the identity of a repository, such as `host/owner/name`. The credentials for a repository are
    stored under this identity.

    repository: the address of a repository, such as its URL, or an identity. An identity is accepted if the
    user has credentials or network settings for it. Raises InvalidRepository for any other text.
    """
    given_out = {row.subject for row in await credentials.visible(session, user.id)}
    return repository if repository in given_out else await identity_of(session, user.id, repository)


async def _credential_info(
    session: AsyncSession, config: Config, principal: Principal, row: EgressCredential
) -> NetworkCredential:
    user = principal.user
    return NetworkCredential.of(
        row,
        is_own=row.user_id == user.id or credentials.owns_installation(principal),
        is_allowed=await _is_allowed(session, config, user, row),
    )


async def _is_allowed(session: AsyncSession, config: Config, user: User, row: EgressCredential) -> bool:
    policy = await settings.policy_of(
        session, config, user.id, repositories=[row.subject or None], sandbox_id=None
    )
    return policy.refusal(row.host, row.port) is None
