"""HTTP routes by which administrators create service accounts and API keys for them.

A service account is a user for programs. It cannot sign in; only its API keys act for it.
"""

from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.access import people
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.key_routes import create_key
from app_server.access.key_schemas import ApiKeyInfo, CreateApiKey, CreatedApiKey
from app_server.access.people_schemas import InvitePerson, Person
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.errors import NotFound
from app_server.sign_in.invitations import create_account
from app_server.users import service
from app_server.users.models import ApiKey, User

router = APIRouter(prefix="/api/v1/people/service-accounts", tags=["People"])


@router.post("", status_code=201, response_model=Person)
async def create_service_account(
    manager: CurrentUser, trail: CurrentTrail, session: Session, body: InvitePerson
) -> User:
    """Creates a service account and returns it. A service account is a user for programs; it cannot sign in.
    Administrators see it in the list of people, and can change, disable, export and delete it like a person's
    account. Errors: 403 `role_not_manageable` if the administrator may not manage accounts with this role.
    """
    people.require_can_manage(manager, body.role)
    account = await create_account(
        session, name=body.name, role=body.role, organisation_id=manager.organisation_id
    )
    account.is_service = True
    target = (AuditTarget.USER, account.id)
    trail.record(session, AuditAction.MEMBER_CREATED, target, name=body.name, role=body.role, is_service=True)
    await session.flush()
    return account


@router.get("/{account_id}/keys", response_model=list[ApiKeyInfo])
async def list_keys_of_service_account(
    manager: CurrentUser, session: ReadSession, account_id: UUID
) -> list[ApiKey]:
    """Returns the API keys of a service account (a user for programs, which cannot sign in). Errors: 404
    `service_account_not_found` if there is no such service account.
    """
    return await service.list_api_keys(session, await _account(session, manager, account_id))


@router.post("/{account_id}/keys", status_code=201)
async def create_key_of_service_account(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    account_id: UUID,
    body: CreateApiKey,
) -> CreatedApiKey:
    """Creates an API key that acts for a service account, and returns the key. The key may do only what the
    account's role allows. It also cannot have more rights than the API key or browser session that sends this
    request.

    Errors: 403 `role_not_manageable` if the administrator may not manage accounts with this role; 403
    `stronger_key` if the requested key has more rights than the API key or browser session of this request;
    404 `service_account_not_found` if there is no such service account; 409 `too_many_api_keys` if the
    account has the maximum number of API keys.
    """
    account = await _account(session, principal.user, account_id)
    people.require_can_manage(principal.user, account.role)
    return await create_key(session, trail, principal, account, body)


@router.delete("/{account_id}/keys/{api_key_id}", status_code=204)
async def delete_key_of_service_account(
    manager: CurrentUser, trail: CurrentTrail, session: Session, account_id: UUID, api_key_id: UUID
) -> None:
    """Deletes an API key of a service account. Open connections that use the key, such as event streams, are
    closed within two seconds. Errors: 403 `role_not_manageable` if the administrator may not manage accounts
    with this role; 404 `service_account_not_found` if there is no such service account; 404
    `api_key_not_found` if there is no such key.
    """
    account = await _account(session, manager, account_id)
    people.require_can_manage(manager, account.role)
    name = await service.delete_api_key(session, account, api_key_id)
    trail.record(
        session, AuditAction.KEY_DELETED, (AuditTarget.KEY, api_key_id), name=name, account=account.name
    )


async def _account(session: AsyncSession, manager: User, account_id: UUID) -> User:
    account = await session.get(User, account_id)
    is_there = account is not None and account.organisation_id == manager.organisation_id
    if account is None or not is_there or not account.is_service:
        raise NotFound("There is no such service account.", code="service_account_not_found")
    return account
