"""Enforces the quotas for running sandboxes: a maximum for each user and a maximum for each organisation."""

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
    Raises TooManyRequests `quota_reached` if the quotas do not allow this.

    `sandbox_id`: the sandbox that is about to start; it is not counted as running.
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
