"""Finds and creates users. Also lists, creates and deletes the API keys with which programs act as a user."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Conflict, NotFound
from app_server.users.models import ApiKey, Role, User
from app_server.users.organisations import DEFAULT_ORGANISATION_ID
from app_server.users.tokens import API_KEY_PREFIX, new_api_key, token_hash

MAX_API_KEYS = 100

_SHOWN_CHARACTERS = len(API_KEY_PREFIX) + 6


async def find_owner(session: AsyncSession) -> User | None:
    """Returns the owner of the default organisation, whose administrators run the installation. Returns None
    if the first start of the server has not yet created the owner.
    """
    query = select(User).where(User.role == Role.OWNER, User.organisation_id == DEFAULT_ORGANISATION_ID)
    query = query.order_by(User.created_at).limit(1)
    return (await session.scalars(query)).one_or_none()


async def create_user(
    session: AsyncSession, *, name: str, role: Role, organisation_id: UUID = DEFAULT_ORGANISATION_ID
) -> User:
    user = User(name=name, role=role, organisation_id=organisation_id)
    session.add(user)
    await session.flush()
    return user


async def list_api_keys(session: AsyncSession, user: User) -> list[ApiKey]:
    query = select(ApiKey).where(ApiKey.user_id == user.id).order_by(ApiKey.created_at.desc())
    return list(await session.scalars(query))


async def create_api_key(
    session: AsyncSession,
    user: User,
    *,
    name: str,
    scopes: Sequence[str] | None = None,
    addresses: Sequence[str] | None = None,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Creates an API key for a user. Returns the database row and the key itself. The key cannot be read
    later, because only its hash is stored.

    `scopes` and `addresses`: limits of the key, see ApiKey; None means no limit. `expires_at`: None means
    that the key does not expire. Raises Conflict `too_many_api_keys` if the user has 100 keys.
    """
    if len(await list_api_keys(session, user)) >= MAX_API_KEYS:
        raise Conflict(
            f"You have {MAX_API_KEYS} API keys, which is the limit.",
            code="too_many_api_keys",
            fix="Delete one that is no longer used.",
        )
    key = new_api_key()
    row = ApiKey(
        user_id=user.id,
        name=name,
        prefix=key[:_SHOWN_CHARACTERS],
        key_hash=token_hash(key),
        scopes=None if scopes is None else [str(one) for one in scopes],
        addresses=None if addresses is None else [*addresses],
        expires_at=expires_at,
    )
    session.add(row)
    await session.flush()
    return row, key


async def delete_api_key(session: AsyncSession, user: User, api_key_id: UUID) -> str:
    """Deletes an API key of the user and returns the name of the key. Raises NotFound `api_key_not_found` if
    the user has no such key.
    """
    statement = delete(ApiKey).where(ApiKey.id == api_key_id, ApiKey.user_id == user.id)
    name: str | None = await session.scalar(statement.returning(ApiKey.name))
    if name is None:
        raise NotFound("There is no such API key.", code="api_key_not_found")
    return name
