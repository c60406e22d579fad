"""Routes for the current user's network settings and for the records of the network requests of the user's
sandboxes.
"""

from uuid import UUID

from fastapi import APIRouter, Request
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.addresses import parse_rule
from app_server.core.config import Config
from app_server.core.database import ReadSession, Session
from app_server.core.pagination import Limit, PageId, encode_page_id, page_position
from app_server.egress import settings
from app_server.egress.attribution import AttributionOf
from app_server.egress.log_records import search
from app_server.egress.models import EgressSetting
from app_server.egress.policy import EgressMode, known_hosts
from app_server.egress.schemas import (
    NetworkRecord,
    NetworkRecordPage,
    NetworkSettings,
    RepositoryInQuery,
    RepositoryNetwork,
    SetNetwork,
    SetRepositoryNetwork,
)
from app_server.egress.settings import OF_USER, Scope
from app_server.git.address import parse_address

router = APIRouter(prefix="/api/v1/settings/network", tags=["Network"])


@router.get("")
async def get_network(user: CurrentUser, session: ReadSession, request: Request) -> NetworkSettings:
    return await _network_settings(request, session, user.id)


@router.put("")
async def set_network(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SetNetwork, request: Request
) -> NetworkSettings:
    """Replaces the network settings of the current user and returns them. The new settings apply at once to
    new requests of the user's sandboxes.

    403 `setting_enforced` for a new host that an enforced rule of the organisation or a team denies. 409
    `too_many_hosts` for more hosts than the maximum.
    """
    await settings.save(session, user.id, OF_USER, body.mode, [parse_rule(host) for host in body.hosts])
    trail.record(
        session, AuditAction.EGRESS_CHANGED, (AuditTarget.NETWORK, "user"), mode=body.mode, hosts=body.hosts
    )
    return await _network_settings(request, session, user.id)


@router.put("/repositories")
async def set_repository_network(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: SetRepositoryNetwork
) -> RepositoryNetwork:
    """Replaces the current user's network settings for a repository and returns them. The new settings apply
    at once to new requests of the sandboxes that work on the repository.

    403 `setting_enforced` for a new host that an enforced rule of the organisation or a team denies. 409
    `too_many_hosts` for more hosts than the maximum. 422 `repository_not_found` if `repository` is not a
    repository.
    """
    scope = Scope.of_repository(await identity_of(session, user.id, body.repository))
    hosts = [parse_rule(host) for host in body.hosts]
    target = (AuditTarget.NETWORK, scope.subject)
    trail.record(session, AuditAction.EGRESS_CHANGED, target, mode=body.mode, hosts=body.hosts)
    return RepositoryNetwork.of(await settings.save(session, user.id, scope, body.mode, hosts))


@router.delete("/repositories", status_code=204)
async def forget_repository_network(
    user: CurrentUser, trail: CurrentTrail, session: Session, repository: RepositoryInQuery
) -> None:
    """Deletes the current user's network settings for a repository. Does nothing if there are none.

    repository: the identity of the repository (`host/owner/name` or a path), as in the replies of the API.
    """
    await settings.forget(session, user.id, Scope.of_repository(repository))
    trail.record(session, AuditAction.EGRESS_CHANGED, (AuditTarget.NETWORK, repository), change="forgotten")


@router.get("/records")
async def search_network_records(
    user: CurrentUser,
    session: ReadSession,
    request: Request,
    sandbox_id__eq: UUID | None = None,
    page_id: PageId = None,
    limit: Limit = 50,
) -> NetworkRecordPage:
    """Returns a page of the records of network requests from the current user's sandboxes, latest first.

    One record counts the requests of one sandbox to one host and port within one hour. Allowed requests are
    counted in one record, and refused requests in one record for each reason.
    """
    before = page_position(page_id) if page_id else None
    found = await search(session, user.id, sandbox_id=sandbox_id__eq, before=before, limit=limit + 1)
    page, more = found[:limit], found[limit:]
    attribution_of: AttributionOf = request.state.attribution_of
    attribution = await attribution_of(session, user.id, [record.sandbox_id for record in page])
    return NetworkRecordPage(
        items=[NetworkRecord.of(record, attribution) for record in page],
        next_page_id=encode_page_id(page[-1].last_at.isoformat(timespec="microseconds"), page[-1].id.hex)
        if more
        else None,
    )


async def _network_settings(request: Request, session: AsyncSession, user_id: UUID) -> NetworkSettings:
    config: Config = request.state.config
    own: EgressSetting = await settings.get(session, user_id, OF_USER)
    return NetworkSettings(
        mode=own.mode,
        default_mode=EgressMode(config.egress),
        hosts=own.hosts,
        default_hosts=[*map(str, known_hosts()), *config.egress_hosts],
        repositories=[
            RepositoryNetwork.of(each) for each in await settings.of_repositories(session, user_id)
        ],
        is_enforced=request.state.sandboxes.describe().closes_network,
    )


async def identity_of(session: AsyncSession, user_id: UUID, repository: str) -> str:
    """Returns the identity of a repository (`host/owner/name` or a path).

    repository: an identity for which the user has network settings, or the address of a repository. Raises
    InvalidRepository if the text is neither.
    """
    known = await settings.of_repositories(session, user_id)
    if any(setting.subject == repository for setting in known):
        return repository
    return parse_address(repository).identity
