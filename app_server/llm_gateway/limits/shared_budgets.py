"""Monthly budgets of teams and of the organisation. A budget limits what all members together may spend on
models.

All budgets apply at once: unlike other settings, no budget overrides another. The spent amount of a budget is
what its present members have spent in this month (UTC), plus the reservations of their running calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.levels.models import LevelSetting, SettingName
from app_server.levels.resolution import LevelValue
from app_server.levels.service import all_values, as_value, values_for
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount, SpendingReservation
from app_server.llm_gateway.limits.refusals import price_unknown, shared_budget_reached
from app_server.llm_gateway.limits.spending import monthly_id, start_of, to_micros
from app_server.settings.effective_values import effective
from app_server.settings.models import LLMProfile
from app_server.teams.models import TeamMember
from app_server.users.colleagues import members_of


@dataclass(frozen=True)
class SharedBudget:
    """A monthly budget of a team or the organisation, and the dollars that its members have spent in this
    month.
    """

    value: LevelValue
    spent: float


async def require_shared_budgets(
    session: AsyncSession,
    user_id: UUID,
    profile: LLMProfile,
    budgets: Sequence[LevelValue] | None = None,
) -> None:
    """Checks that the monthly budgets of the user's teams and of the organisation are not spent.

    `budgets`: the budgets to check, if the caller has already read them; None means that this function reads
    them from the database. `profile`: the model profile (a saved model with its options) of the call.

    Raises PaymentRequired `llm_administrator_limit_reached` if a budget is spent. Raises PaymentRequired
    `llm_price_unknown` if there is a budget and the price of the profile's model is not known.
    """
    if profile.is_recording:
        return
    if budgets is None:
        budgets = await budgets_of(session, user_id)
    if budgets and effective(profile).price is None:
        raise price_unknown()
    await require_remaining_budget(session, budgets)


async def budgets_of(session: AsyncSession, user_id: UUID) -> Sequence[LevelValue]:
    """Returns the monthly budgets for model spending that are set for the user's teams and for the user's
    organisation.
    """
    found = await values_for(session, user_id, SettingName.MONTHLY_BUDGET)
    return found.get(SettingName.MONTHLY_BUDGET, ())


async def lock_budgets(session: AsyncSession, budgets: Sequence[LevelValue]) -> None:
    """Locks the rows of these budgets until this transaction ends, so that two calls are never checked at the
    same time. Without the lock, two calls could both be allowed although the rest of a budget is enough for
    only one of them.
    """
    owners = [budget.owner_id for budget in budgets]
    query = select(LevelSetting.owner_id).where(
        LevelSetting.owner_id.in_(owners), LevelSetting.name == SettingName.MONTHLY_BUDGET
    )
    # Always in the same order, so that two transactions do not deadlock.
    await session.execute(query.order_by(LevelSetting.owner_id).with_for_update())


async def require_remaining_budget(session: AsyncSession, budgets: Sequence[LevelValue]) -> None:
    """Checks that each of these monthly budgets has money left that is neither spent nor reserved. Otherwise
    raises PaymentRequired `llm_administrator_limit_reached` for the first budget without money left.
    """
    for budget in budgets:
        accounts = await _accounts(session, budget)
        spent, reserved = await _spent(session, accounts), await _reserved(session, accounts)
        if spent + reserved >= to_micros(budget.value):
            raise shared_budget_reached(budget, spent, reserved)


async def shared_budgets(session: AsyncSession, organisation_id: UUID) -> Sequence[SharedBudget]:
    """Returns the monthly budgets of an organisation and its teams, each with the amount that its members
    have spent. The organisation's budget comes first.
    """
    values = [
        as_value(row, team_name)
        for row, team_name in await all_values(session, organisation_id)
        if row.name == SettingName.MONTHLY_BUDGET
    ]
    return [
        SharedBudget(value, await _spent(session, await _accounts(session, value)) / MICROS)
        for value in values
    ]


async def _accounts(session: AsyncSession, budget: LevelValue) -> Sequence[UUID]:
    """Returns the ids of the spending accounts that count what the members of the budget's team or
    organisation spend in each month.
    """
    assert budget.owner_id is not None, "budgets are stored values"
    members = members_of(budget.owner_id)
    if budget.team_id is not None:
        members = select(TeamMember.user_id).where(TeamMember.team_id == budget.team_id)
    return [monthly_id(user_id) for user_id in await session.scalars(members)]


async def _spent(session: AsyncSession, accounts: Sequence[UUID]) -> int:
    """Returns the amount that was spent in this month according to these spending accounts, in millionths of
    a dollar.
    """
    of_month = select(func.sum(SpendingAccount.spent)).where(
        SpendingAccount.id.in_(accounts), SpendingAccount.began_at >= start_of(Period.MONTH, now())
    )
    return int(await session.scalar(of_month) or 0)


async def _reserved(session: AsyncSession, accounts: Sequence[UUID]) -> int:
    """Returns the amount that running model calls have reserved in these spending accounts, in millionths of
    a dollar.
    """
    under_way = select(func.sum(SpendingReservation.amount)).where(
        SpendingReservation.account_id.in_(accounts), SpendingReservation.lease_until > now()
    )
    return int(await session.scalar(under_way) or 0)
