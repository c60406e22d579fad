"""Stores a user's secrets. Every query is limited to the user's own rows."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.core.errors import Conflict, NotFound
from app_server.core.pagination import decode_page_id, encode_page_id
from app_server.levels.items import require_not_enforced
from app_server.levels.models import LevelItemKind
from app_server.secrets.models import Secret
from app_server.secrets.schemas import ChangeSecret, SaveSecret

MAX_SECRETS = 100


async def list_secrets(session: AsyncSession, user_id: UUID) -> Sequence[Secret]:
    """Returns all secrets of the user, sorted by name."""
    return (
        await session.scalars(select(Secret).where(Secret.user_id == user_id).order_by(Secret.name))
    ).all()


async def search_secrets(
    session: AsyncSession, user_id: UUID, *, name_contains: str | None, page_id: str | None, limit: int
) -> tuple[Sequence[Secret], str | None]:
    """Returns a page of the user's secrets, sorted by name, and the id of the next page. The id is None on
    the last page.

    `name_contains`: returns only secrets whose names contain this text; upper and lower case are not
    distinguished. None returns all secrets. `page_id`: the page to return; None means the first page.
    `limit`: the maximum number of secrets on the page.
    """
    query = select(Secret).where(Secret.user_id == user_id)
    if name_contains:
        query = query.where(func.lower(Secret.name).contains(name_contains.lower(), autoescape=True))
    if page_id is not None:
        (last_name,) = decode_page_id(page_id, parts=1)
        query = query.where(Secret.name > last_name)
    rows = (await session.scalars(query.order_by(Secret.name).limit(limit + 1))).all()
    page = rows[:limit]
    return page, encode_page_id(page[-1].name) if len(rows) > limit else None


async def get_secret(session: AsyncSession, user_id: UUID, name: str) -> Secret:
    """Returns the user's secret with this name. Raises NotFound `secret_not_found` if there is none."""
    secret = await _find(session, user_id, name)
    if secret is None:
        raise NotFound("There is no secret of this name.", code="secret_not_found")
    return secret


async def save_secret(
    session: AsyncSession, cipher: Cipher, user_id: UUID, given: SaveSecret
) -> tuple[Secret, bool]:
    """Adds a secret, or replaces the secret with the same name. Returns the secret and whether it is new.

    Raises Conflict `too_many_secrets` if the user has the maximum number of secrets. Raises Forbidden
    `setting_enforced` if the organisation or a team has a secret with this name that users cannot override.
    """
    await require_not_enforced(session, user_id, LevelItemKind.SECRET, given.name)
    secret = await _find(session, user_id, given.name)
    is_new = secret is None
    if secret is None:
        if len(await list_secrets(session, user_id)) >= MAX_SECRETS:
            raise Conflict(f"There can be at most {MAX_SECRETS} secrets.", code="too_many_secrets")
        secret = Secret(user_id=user_id, name=given.name)
        session.add(secret)
    secret.description = given.description
    secret.value_encrypted = cipher.encrypt(given.value.get_secret_value())
    await _flush(session)
    return secret, is_new


async def change_secret(
    session: AsyncSession, cipher: Cipher, user_id: UUID, name: str, changes: ChangeSecret
) -> Secret:
    """Changes a secret and returns it. Raises NotFound `secret_not_found` if the user has no secret with the
    name `name`. Raises Conflict `secret_exists` if another secret has the new name. Raises Forbidden
    `setting_enforced` if the organisation or a team has a secret with the new name that users cannot
    override.
    """
    secret = await get_secret(session, user_id, name)
    await require_not_enforced(session, user_id, LevelItemKind.SECRET, changes.name)
    secret.name, secret.description = changes.name, changes.description
    if changes.value is not None:
        secret.value_encrypted = cipher.encrypt(changes.value.get_secret_value())
    await _flush(session)
    return secret


async def delete_secret(session: AsyncSession, user_id: UUID, name: str) -> None:
    await session.delete(await get_secret(session, user_id, name))


async def _find(session: AsyncSession, user_id: UUID, name: str) -> Secret | None:
    found: Secret | None = await session.scalar(
        select(Secret).where(Secret.user_id == user_id, Secret.name == name)
    )
    return found


async def _flush(session: AsyncSession) -> None:
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict("There is a secret of this name already.", code="secret_exists") from error
