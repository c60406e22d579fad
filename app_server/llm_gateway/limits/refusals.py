"""The errors for model calls that a spending limit does not allow. The agent and its user read the messages
of these errors.
"""

from typing import Any

from agent_runtime.metering.limits import (
    ADMINISTRATOR_LIMIT_WORDS,
    CONVERSATION_LIMIT_WORDS,
    USER_LIMIT_WORDS,
)
from app_server.core.database import now
from app_server.core.errors import PaymentRequired
from app_server.levels.resolution import LevelValue
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount
from app_server.llm_gateway.limits.spending import end_of, to_micros


def price_unknown() -> PaymentRequired:
    return PaymentRequired(
        "What this model costs is not known, so your spending limit cannot be kept. Set the model's "
        "prices in the settings (0 if it is free), or remove the limit.",
        code="llm_price_unknown",
    )


def reached(account: SpendingAccount, reserved: int) -> PaymentRequired:
    assert account.limit is not None
    under_way = f", {_dollars(reserved)} more by calls under way" if reserved else ""
    amounts = f"{_dollars(account.spent)} of {_dollars(account.limit)} are spent{under_way}."
    if account.period is Period.WHOLE:
        return PaymentRequired(
            f"{CONVERSATION_LIMIT_WORDS}: {amounts}",
            code="llm_budget_reached",
            fix="Allow more for this conversation, or remove its budget.",
            **_limit(account, set_by="conversation"),
        )
    span = "today" if account.period is Period.DAY else "this month"
    if account.is_administered:
        return PaymentRequired(
            f"{ADMINISTRATOR_LIMIT_WORDS}: {amounts[:-1]} {span}.",
            code="llm_administrator_limit_reached",
            fix="Ask an administrator to allow you more, or wait until the next period begins.",
            **_limit(account, set_by="administrator"),
        )
    return PaymentRequired(
        f"{USER_LIMIT_WORDS}: {amounts[:-1]} {span}.",
        code="llm_spending_limit_reached",
        fix="Allow more for this period, or change the limit in the settings.",
        **_limit(account, set_by="user"),
    )


def shared_budget_reached(budget: LevelValue, spent: int, reserved: int) -> PaymentRequired:
    """Returns the error for a call that the monthly budget of a team or the organisation does not allow.

    spent: what was spent in this month. reserved: what running calls have reserved. Both are in millionths of
    a dollar.
    """
    ends = end_of(Period.MONTH, now())
    assert ends is not None
    amounts = f"{_dollars(spent)} of {_dollars(to_micros(budget.value))}"
    under_way = f", and calls under way may cost {_dollars(reserved)} more" if reserved else ""
    return PaymentRequired(
        f"{ADMINISTRATOR_LIMIT_WORDS}: all members of {budget.whose} together have spent {amounts} "
        f"this month{under_way}.",
        code="llm_administrator_limit_reached",
        fix="Ask an administrator to allow more, or wait until the next month begins.",
        limit=budget.value,
        set_by=budget.level.value,
        team=budget.team_name,
        frees_at=ends.isoformat().replace("+00:00", "Z"),
    )


def _limit(account: SpendingAccount, set_by: str) -> dict[str, Any]:
    """Returns the fields that describe a spending limit in an error reply: the amount in dollars, who has set
    it, and when the next period begins. `set_by`: `user`, `administrator` or `conversation`.
    """
    ends = end_of(account.period, now())
    return {
        "limit": (account.limit or 0) / MICROS,
        "set_by": set_by,
        "frees_at": None if ends is None else ends.isoformat().replace("+00:00", "Z"),
    }


def _dollars(micros: int) -> str:
    # Cheap models spend fractions of a cent.
    return f"${micros / MICROS:.2f}" if micros >= MICROS // 100 else f"${micros / MICROS:.2g}"
