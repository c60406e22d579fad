"""Enforces the quotas for running sandboxes: the maximum for each user and for the user's organisation."""

from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_of, quota_reached
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.colleagues import colleagues_of

UP = (SandboxStatus.STARTING, SandboxStatus.RUNNING)


async def require_running_quota(session: AsyncSession, user_id: UUID, sandbox_id: UUID) -> None:
    """Checks that the quotas of the user and of the user's organisation allow one more running sandbox.
    Raises TooManyRequests `quota_reached` if a quota does not.

    `sandbox_id`: the sandbox that is about to start, which is not counted.
    """
    others = select(func.count()).where(Sandbox.status.in_(UP), Sandbox.id != sandbox_id)
    for name, counted in (
        (SettingName.RUNNING_SANDBOXES, others.where(Sandbox.user_id == user_id)),
        (
            SettingName.ORGANISATION_RUNNING_SANDBOXES,
            others.where(Sandbox.user_id.in_(colleagues_of(user_id))),
        ),
    ):
        quota = await quota_of(session, user_id, name)
        if quota is not None and (await session.scalar(counted) or 0) >= quota.value:
            raise quota_reached(name, quota)
