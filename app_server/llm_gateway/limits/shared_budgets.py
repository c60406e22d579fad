"""Monthly budgets of teams and of the organisation: what all their members together may spend on models.

Each budget holds: unlike other settings, none overrides another. What counts is what the present members have
spent in this month (UTC), as far as their calls have ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.levels.models import SettingName
from app_server.levels.resolution import LevelValue
from app_server.levels.service import all_values, as_value, values_for
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount
from app_server.llm_gateway.limits.refusals import price_unknown, shared_budget_reached
from app_server.llm_gateway.limits.spending import monthly_id, start_of, to_micros
from app_server.settings.effective import effective
from app_server.settings.models import LLMProfile
from app_server.teams.models import TeamMember
from app_server.users.models import User


@dataclass(frozen=True)
class SharedBudget:
    """A budget and the dollars that its members have spent in this month."""

    value: LevelValue
    spent: float


async def require_shared_budgets(
    session: AsyncSession,
    user_id: UUID,
    profile: LLMProfile,
    budgets: Sequence[LevelValue] | None = None,
) -> None:
    """Checks the budgets of the user's teams and of the organisation. budgets: if the caller has read them.

    Raises PaymentRequired `llm_administrator_limit_reached`, `llm_price_unknown`.
    """
    if profile.is_recording:
        return
    if budgets is None:
        found = await values_for(session, user_id, SettingName.MONTHLY_BUDGET)
        budgets = found.get(SettingName.MONTHLY_BUDGET, ())
    if budgets and effective(profile).price is None:
        raise price_unknown()
    for budget in budgets:
        spent = await _spent(session, budget)
        if spent >= to_micros(budget.value):
            raise shared_budget_reached(budget, spent)


async def shared_budgets(session: AsyncSession) -> Sequence[SharedBudget]:
    """Returns all budgets, the organisation's first, with what is spent of them."""
    values = [
        as_value(row, team_name)
        for row, team_name in await all_values(session)
        if row.name == SettingName.MONTHLY_BUDGET
    ]
    return [SharedBudget(value, await _spent(session, value) / MICROS) for value in values]


async def _spent(session: AsyncSession, budget: LevelValue) -> int:
    """Returns what the members have spent in this month, in millionths of a dollar."""
    members = select(User.id)
    if budget.team_id is not None:
        members = select(TeamMember.user_id).where(TeamMember.team_id == budget.team_id)
    accounts = [monthly_id(user_id) for user_id in await session.scalars(members)]
    of_month = select(func.sum(SpendingAccount.spent)).where(
        SpendingAccount.id.in_(accounts), SpendingAccount.began_at >= start_of(Period.MONTH, now())
    )
    return int(await session.scalar(of_month) or 0)
