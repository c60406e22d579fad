"""The quotas that limit the model calls of a conversation."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Forbidden
from app_server.levels.models import SettingName
from app_server.levels.quotas import quota_reached
from app_server.levels.resolution import LevelValue
from app_server.levels.service import values_for
from app_server.llm_gateway.caller import Caller
from app_server.llm_gateway.limits.shared_budgets import require_shared_budgets
from app_server.settings.models import LLMProfile


async def quota_of_calls(
    session: AsyncSession, user_id: UUID, caller: Caller, profile: LLMProfile
) -> LevelValue | None:
    """Returns the user's quota for the number of model calls that run at the same time. Returns None if this
    number has no limit. The caller must apply this quota. Before, this function checks the quota for the
    events of the conversation, and the monthly budgets of the user's teams and of the organisation.

    `profile`: the model profile (a saved model with its options) of the call. Raises Forbidden
    `quota_reached` if the conversation already has as many events as the quota for events allows. The HTTP
    status is not 429, because the agent would then repeat a call that is always refused. Raises
    PaymentRequired `llm_administrator_limit_reached` if a budget of a team or of the organisation is spent.
    Raises PaymentRequired `llm_price_unknown` if there is such a budget and the price of the model is not
    known.
    """
    calls, events = SettingName.PARALLEL_MODEL_CALLS, SettingName.EVENTS_PER_CONVERSATION
    budget = SettingName.MONTHLY_BUDGET
    values = await values_for(session, user_id, calls, events, budget)
    await require_shared_budgets(session, user_id, profile, values.get(budget, ()))
    if of_events := values.get(events):
        quota = of_events[0]
        if caller.events >= quota.value:
            raise quota_reached(events, quota, error=Forbidden)
    of_calls = values.get(calls)
    return of_calls[0] if of_calls else None
