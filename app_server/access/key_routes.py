"""Routes for the API keys of the current user."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access.audit_trail import AuditTrail, CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.key_schemas import ApiKeyInfo, CreateApiKey, CreatedApiKey
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.addresses import is_within, parse_networks
from app_server.core.database import ReadSession, Session, now
from app_server.core.errors import Forbidden
from app_server.users import service
from app_server.users.models import ApiKey, User

router = APIRouter(prefix="/api/v1", tags=["Users"])


@router.get("/api-keys", response_model=list[ApiKeyInfo])
async def list_api_keys(user: CurrentUser, session: ReadSession) -> list[ApiKey]:
    return await service.list_api_keys(session, user)


@router.post("/api-keys", status_code=201)
async def create_api_key(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, body: CreateApiKey
) -> CreatedApiKey:
    """Creates an API key for the current user. The key has no more rights than the API key or browser session
    with which the request was sent. 403 `stronger_key` if the request asks for more rights. 409
    `too_many_api_keys` if the user has the maximum number of keys.
    """
    return await create_key(session, trail, principal, principal.user, body)


@router.delete("/api-keys/{api_key_id}", status_code=204)
async def delete_api_key(user: CurrentUser, trail: CurrentTrail, session: Session, api_key_id: UUID) -> None:
    name = await service.delete_api_key(session, user, api_key_id)
    trail.record(session, AuditAction.KEY_DELETED, (AuditTarget.KEY, api_key_id), name=name)


@dataclass(frozen=True)
class KeyLimits:
    """The limits of an API key: its scopes, its expiry and the addresses from which it is accepted. None in a
    field means that the key does not have this limit.
    """

    scopes: list[Permission] | None
    addresses: list[str] | None
    expires_at: datetime | None


async def create_key(
    session: AsyncSession, trail: AuditTrail, principal: Principal, account: User, body: CreateApiKey
) -> CreatedApiKey:
    """Creates an API key, and records this in the audit log. Returns the key, whose text is not shown again.
    `account`: the user or service account whose key it is. `principal`: the user who sends the request, with
    the rights of the request.

    Raises Forbidden `stronger_key` if the new key would have more rights than the API key or browser session
    of the request. Raises Conflict `too_many_api_keys` if the account has the maximum number of keys.
    """
    limits = await _bounded(session, principal, body)
    row, key = await service.create_api_key(
        session,
        account,
        name=body.name,
        scopes=limits.scopes,
        addresses=limits.addresses,
        expires_at=limits.expires_at,
    )
    trail.record(
        session,
        AuditAction.KEY_CREATED,
        (AuditTarget.KEY, row.id),
        name=row.name,
        account=account.name if account.is_service else None,
        scopes=row.scopes,
        addresses=row.addresses,
        expires_at=row.expires_at,
    )
    return CreatedApiKey(**ApiKeyInfo.model_validate(row).model_dump(), key=key)


async def _bounded(session: AsyncSession, principal: Principal, body: CreateApiKey) -> KeyLimits:
    """Returns the limits of a new API key. A limit that `body` leaves out is taken from the API key with
    which the request was sent, if that key has this limit. `principal`: the user who sends the request.
    `body`: the request body that creates the key.

    Raises Forbidden `stronger_key` if the new key would have more rights than the API key or browser session
    with which the request was sent.
    """
    maker = await _maker(session, principal)
    return KeyLimits(
        _scopes(principal, maker, body), _addresses(maker, body.addresses), _end(maker, body.lifetime)
    )


def _scopes(principal: Principal, maker: ApiKey | None, body: CreateApiKey) -> list[Permission] | None:
    scopes = body.scopes
    if scopes is None and maker is not None and maker.scopes is not None:
        scopes = [Permission(one) for one in maker.scopes]
    if missing := [one for one in scopes or () if not principal.may(one)]:
        raise _stronger_key(f"You may not give the scopes {', '.join(missing)}, since you do not have them.")
    return scopes


def _addresses(maker: ApiKey | None, wanted: list[str] | None) -> list[str] | None:
    if maker is None or maker.addresses is None:
        return wanted
    outer = parse_networks(maker.addresses)
    for network in parse_networks(wanted or ()):
        if not any(is_within(network, one) for one in outer):
            raise _stronger_key(f"The key that creates it is not valid for {network}.")
    return wanted or maker.addresses


def _end(maker: ApiKey | None, lifetime: timedelta | None) -> datetime | None:
    expires_at = None if lifetime is None else now() + lifetime
    if maker is None or maker.expires_at is None:
        return expires_at
    if expires_at is not None and expires_at > maker.expires_at:
        raise _stronger_key("The key would expire later than the key that creates it.")
    return expires_at or maker.expires_at


async def _maker(session: AsyncSession, principal: Principal) -> ApiKey | None:
    """Returns the API key with which the request was sent. Returns None if the request was sent with a
    browser session.
    """
    if principal.credential.kind != "key":
        return None
    return await session.get(ApiKey, principal.credential.id)


def _stronger_key(detail: str) -> Forbidden:
    return Forbidden(
        detail,
        code="stronger_key",
        fix="Choose fewer scopes or addresses, or an earlier end, or create it in the settings.",
    )
