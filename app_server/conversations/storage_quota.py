"""Limits the storage of each user to the user's quota."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import Conversation
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_of, quota_reached
from app_server.sandbox_records.models import Archive

GIB = 1024**3


async def require_storage(session: AsyncSession, user_id: UUID) -> None:
    """Checks that the user may keep more. Logs of conversations, archives and snapshots are counted, and
    files of sandboxes that still exist are not. Raises TooManyRequests `quota_reached`.
    """
    for name, owner in (
        (SettingName.STORAGE_GIB, user_id),
        (SettingName.ORGANISATION_STORAGE_GIB, None),
    ):
        quota = await quota_of(session, user_id, name)
        if quota is not None and await stored_bytes(session, owner) >= quota.value * GIB:
            raise quota_reached(name, quota)


async def stored_bytes(session: AsyncSession, user_id: UUID | None) -> int:
    """Returns how many bytes the logs, archives and snapshots have. user_id: None means all users."""
    logs = select(func.sum(Conversation.log_size)).where(Conversation.deleted_at.is_(None))
    archives = select(func.sum(Archive.size_bytes))
    if user_id is not None:
        logs = logs.where(Conversation.user_id == user_id)
        archives = archives.where(Archive.user_id == user_id)
    sizes = [await session.scalar(query) for query in (logs, archives)]
    return sum(int(size or 0) for size in sizes)
