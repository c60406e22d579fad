"""Decides how much one conversation may cost. The organisation, a team, the user, the model profile or the
request can set this budget.
"""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.levels.models import SettingName
from app_server.levels.service import enforced_for, setting_enforced, value_for


async def budget_of_task(
    session: AsyncSession, user_id: UUID, *, asked: float | None, of_profile: float | None
) -> float | None:
    """Returns the maximum cost of a new conversation, in dollars. Returns None if there is no limit.

    `asked`: the budget in the request; None if the request names none. `of_profile`: the budget of the model
    profile; None if it has none. There is also a setting, which the user, a team or the organisation can set.
    Returns the first of these values that is set: `asked`, `of_profile`, the setting.

    If the organisation or a team enforces the setting, it is an upper limit. If `asked` is above the limit,
    raises Forbidden `setting_enforced`. If `asked` is None and `of_profile` is above the limit, returns the
    limit.
    """
    if asked is not None:
        await require_allowed_budget(session, user_id, asked)
        return asked
    value = await value_for(session, user_id, SettingName.MAX_BUDGET_PER_TASK)
    if value is None:
        return of_profile
    if of_profile is None:
        return float(value.value)
    return min(of_profile, value.value) if value.enforced else of_profile


async def require_allowed_budget(session: AsyncSession, user_id: UUID, dollars: float | None) -> None:
    """Checks that a budget in dollars is not higher than the budget that the organisation or a team enforces
    as an upper limit. `dollars`: None means a budget without limit. Raises Forbidden `setting_enforced` if
    the budget is too high.
    """
    enforced = await enforced_for(session, user_id, SettingName.MAX_BUDGET_PER_TASK)
    if enforced is not None and (dollars is None or dollars > enforced.value):
        raise setting_enforced(SettingName.MAX_BUDGET_PER_TASK, enforced)


async def is_budget_enforced(session: AsyncSession, user_id: UUID) -> bool:
    return await enforced_for(session, user_id, SettingName.MAX_BUDGET_PER_TASK) is not None
