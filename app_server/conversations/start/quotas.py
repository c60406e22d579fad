"""Checks a user's quotas before a conversation starts. The quotas limit how many conversations the user may
start.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.storage_quota import require_storage
from app_server.core.database import now
from app_server.levels.models import LevelSetting, SettingName
from app_server.levels.quotas import QUOTAS, quota_of, quota_reached
from app_server.sandbox_lifecycle.running_quota import UP
from app_server.sandbox_records.models import Sandbox
from app_server.users.colleagues import colleagues_of, organisation_of
from app_server.users.models import User

_HOUR = timedelta(hours=1)


async def require_start_quota(session: AsyncSession, user_id: UUID, sandbox_id: UUID) -> None:
    """Checks that the quotas allow the user to start one more conversation in this sandbox. The quotas limit
    the starts per hour, the running sandboxes and the stored bytes, for the user and for the user's
    organisation.

    Conversations that start at the same moment are checked one after the other, so that together they cannot
    exceed a quota. Raises TooManyRequests `quota_reached` if a quota is used up.
    """
    await _lock(session, user_id)
    for name, of_user in (
        (SettingName.STARTS_PER_HOUR, True),
        (SettingName.ORGANISATION_STARTS_PER_HOUR, False),
    ):
        await _require_starts(session, user_id, name, of_user=of_user)
    await require_storage(session, user_id)
    for name, of_user in (
        (SettingName.RUNNING_SANDBOXES, True),
        (SettingName.ORGANISATION_RUNNING_SANDBOXES, False),
    ):
        await _require_sandboxes(session, user_id, sandbox_id, name, of_user=of_user)


async def _lock(session: AsyncSession, user_id: UUID) -> None:
    # `FOR NO KEY UPDATE` is used, because it does not block inserts of rows that refer to the user.
    await session.execute(select(User.id).where(User.id == user_id).with_for_update(key_share=True))
    totals = [name for name in sorted(QUOTAS) if name.startswith("organisation_")]
    quotas = (
        select(LevelSetting.name)
        .where(LevelSetting.name.in_(totals), LevelSetting.owner_id == organisation_of(user_id))
        .order_by(LevelSetting.name)
    )
    await session.execute(quotas.with_for_update())


async def _require_starts(session: AsyncSession, user_id: UUID, name: SettingName, *, of_user: bool) -> None:
    quota = await quota_of(session, user_id, name)
    if quota is None:
        return
    counted = _counted(user_id, of_user=of_user)
    recent = select(StartTask.created_at).where(
        StartTask.created_at > now() - _HOUR, StartTask.user_id.in_(counted)
    )
    # The oldest of the starts that fill the quota. One more may start when it is an hour old.
    oldest = await session.scalar(
        recent.order_by(StartTask.created_at.desc()).offset(quota.value - 1).limit(1)
    )
    if oldest is not None:
        raise quota_reached(name, quota, frees_at=oldest + _HOUR)


async def _require_sandboxes(
    session: AsyncSession, user_id: UUID, sandbox_id: UUID, name: SettingName, *, of_user: bool
) -> None:
    quota = await quota_of(session, user_id, name)
    if quota is None:
        return
    ended = (StartStatus.READY, StartStatus.ERROR)
    counted = _counted(user_id, of_user=of_user)
    up: Select[UUID] = select(Sandbox.id).where(Sandbox.status.in_(UP), Sandbox.user_id.in_(counted))
    # A conversation that has just begun to start may have no sandbox yet.
    coming: Select[UUID] = select(StartTask.sandbox_id).where(
        StartTask.status.not_in(ended), StartTask.user_id.in_(counted)
    )
    both = up.union(coming).subquery()
    count = await session.scalar(select(func.count()).select_from(both).where(both.c[0] != sandbox_id))
    if (count or 0) >= quota.value:
        raise quota_reached(name, quota)


def _counted(user_id: UUID, *, of_user: bool) -> Sequence[UUID] | Select[UUID]:
    """Returns the ids of the users whose starts and sandboxes are added up for a quota. `of_user`: which
    quota. If true, the quota limits the user `user_id` alone, and only this id is returned. If false, the
    quota limits the user's organisation, and a query for the ids of all its users is returned.
    """
    return [user_id] if of_user else colleagues_of(user_id)
