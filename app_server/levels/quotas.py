"""Quotas: limits on how much one user, or all users of an organisation together, may use. Administrators set
quotas for the organisation, for teams and for users.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.errors import AppError, TooManyRequests
from app_server.levels.models import Level, SettingName
from app_server.levels.resolution import LevelValue
from app_server.levels.service import value_for

TOTALS: Mapping[SettingName, SettingName] = MappingProxyType(
    {
        SettingName.RUNNING_SANDBOXES: SettingName.ORGANISATION_RUNNING_SANDBOXES,
        SettingName.STARTS_PER_HOUR: SettingName.ORGANISATION_STARTS_PER_HOUR,
        SettingName.STORAGE_GIB: SettingName.ORGANISATION_STORAGE_GIB,
    }
)
"""Maps each quota for one user to the quota of the same kind for all users of the organisation together. A
quota for all users together can be set only for the organisation, not for a team or a user.
"""

QUOTAS = frozenset(
    (
        *TOTALS,
        *TOTALS.values(),
        SettingName.PARALLEL_MODEL_CALLS,
        SettingName.EVENTS_PER_CONVERSATION,
    )
)

_WORDS: Mapping[SettingName, str] = MappingProxyType(
    {
        SettingName.RUNNING_SANDBOXES: "running sandboxes of one person",
        SettingName.ORGANISATION_RUNNING_SANDBOXES: "running sandboxes of everyone together",
        SettingName.STARTS_PER_HOUR: "conversations that one person starts in an hour",
        SettingName.ORGANISATION_STARTS_PER_HOUR: "conversations that everyone together starts in an hour",
        SettingName.PARALLEL_MODEL_CALLS: "model calls of one person at the same time",
        SettingName.EVENTS_PER_CONVERSATION: "events of one conversation",
        SettingName.STORAGE_GIB: "GiB of logs, archives and snapshots of one person",
        SettingName.ORGANISATION_STORAGE_GIB: "GiB of logs, archives and snapshots of everyone together",
    }
)
_FIXES: Mapping[SettingName, str] = MappingProxyType(
    {
        SettingName.RUNNING_SANDBOXES: "Stop a conversation whose sandbox runs, or ask an administrator.",
        SettingName.ORGANISATION_RUNNING_SANDBOXES: "Wait until another sandbox sleeps.",
        SettingName.EVENTS_PER_CONVERSATION: "Go on in a new conversation, or ask an administrator.",
        SettingName.STORAGE_GIB: "Delete conversations or snapshots, or ask an administrator.",
        SettingName.ORGANISATION_STORAGE_GIB: "Delete conversations or snapshots, or ask an administrator.",
    }
)


async def quota_of(session: AsyncSession, user_id: UUID, name: SettingName) -> LevelValue | None:
    """Returns the quota with this name that applies to a user. Returns None if no such quota is set, which
    means that there is no limit.
    """
    return await value_for(session, user_id, name)


def quota_reached(
    name: SettingName,
    quota: LevelValue,
    frees_at: datetime | None = None,
    *,
    error: type[AppError] = TooManyRequests,
) -> AppError:
    """Returns the error for a request that is refused because a quota is used up. The caller raises the
    error.

    frees_at: the time from which the request can succeed; None if the time is not known. error: the class of
    the error, which determines the HTTP status.
    """
    set_by = "administrator" if quota.level is Level.USER else quota.level.value
    headers = None
    if frees_at is not None:
        headers = {"Retry-After": str(max(1, round((frees_at - now()).total_seconds())))}
    return error(
        f"The limit is reached: {quota.value} {_WORDS[name]}. {_whose(quota)} set it.",
        code="quota_reached",
        fix=_FIXES.get(name, "Wait, or ask an administrator for a higher limit."),
        headers=headers,
        quota=name.value,
        limit=quota.value,
        set_by=set_by,
        team=quota.team_name,
        frees_at=None if frees_at is None else frees_at.isoformat().replace("+00:00", "Z"),
    )


def _whose(quota: LevelValue) -> str:
    match quota.level:
        case Level.ORGANISATION:
            return "Your organisation has"
        case Level.TEAM:
            return f"The team {quota.team_name!r} has"
        case Level.USER:
            return "An administrator has"
