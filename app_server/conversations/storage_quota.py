"""Limits how many bytes the server may store for a user."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_of, quota_reached
from app_server.sandbox_records.models import Archive
from app_server.users.colleagues import colleagues_of

GIB = 1024**3


async def require_storage(session: AsyncSession, user_id: UUID) -> None:
    """Checks that the bytes stored for the user are below the user's quota, and that the bytes stored for the
    user's organisation are below the organisation's quota. Event logs, archives and snapshots count. Files of
    sandboxes that still exist do not count.

    Raises TooManyRequests `quota_reached` if one of the quotas is reached.
    """
    for name, owners in (
        (SettingName.STORAGE_GIB, [user_id]),
        (SettingName.ORGANISATION_STORAGE_GIB, colleagues_of(user_id)),
    ):
        quota = await quota_of(session, user_id, name)
        if quota is not None and await stored_bytes(session, owners) >= quota.value * GIB:
            raise quota_reached(name, quota)


async def stored_bytes(session: AsyncSession, owners: Sequence[UUID] | Select[UUID]) -> int:
    """Returns the total size of the event logs, archives and snapshots of these users, in bytes."""
    logs = select(func.sum(Conversation.log_size)).where(
        Conversation.deleted_at.is_(None), Conversation.user_id.in_(owners)
    )
    archives = select(func.sum(Archive.size_bytes)).where(Archive.user_id.in_(owners))
    sizes = [await session.scalar(query) for query in (logs, archives)]
    return sum(int(size or 0) for size in sizes)
