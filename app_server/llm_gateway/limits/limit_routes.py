"""Routes for the limit that a user sets on model spending. The limit covers all conversations of the user
together.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import AfterValidator, BaseModel, ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import Dollars
from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Session
from app_server.core.pubsub import publish_after_commit
from app_server.llm_gateway.limits import spending
from app_server.llm_gateway.limits.calls import SPENT
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount

router = APIRouter(prefix="/api/v1/settings/spending-limit", tags=["Settings"])


def _countable(dollars: float) -> float:
    if spending.to_micros(dollars) == 0:
        raise ValueError("less than a millionth of a dollar cannot be counted")
    return dollars


CountedDollars = Annotated[Dollars, AfterValidator(_countable)]


class SetSpendingLimit(BaseModel):
    """The request body that sets a spending limit. `limit`: dollars per period; null means no limit. Periods
    begin at midnight UTC.
    """

    model_config = ConfigDict(extra="forbid")

    limit: CountedDollars | None
    period: Literal["day", "month"] = "month"


class RaiseSpendingLimit(BaseModel):
    """The request body that raises a spending limit temporarily. `by`: dollars that are added to the limit
    until the current period ends.
    """

    model_config = ConfigDict(extra="forbid")

    by: CountedDollars


class AdministeredLimit(SetSpendingLimit):
    """The spending limit that an administrator has set for a user, as the HTTP routes return it. `spent`:
    dollars spent in the current period, which began at `began_at`.
    """

    spent: float
    began_at: datetime


class SpendingLimit(AdministeredLimit):
    """The reply with the spending limit that the user has set. `raised`: dollars added to the limit for the
    current period.

    `administered`: the limit that an administrator has set for the user, which applies in addition to the
    user's limit; null if no administrator has set a limit.
    """

    raised: float
    administered: AdministeredLimit | None


@router.get("")
async def get_spending_limit(user: CurrentUser, session: Session) -> SpendingLimit:
    return await _current_limits(session, user.id)


@router.put("")
async def set_spending_limit(
    user: CurrentUser, trail: CurrentTrail, session: Session, request: Request, body: SetSpendingLimit
) -> SpendingLimit:
    """Sets the user's spending limit. The limit applies at once, and a temporary raise of the limit ends. The
    amount that was spent in the current period still counts, with one exception: if the period changes to a
    day, and the current period began on an earlier day, a new period begins with nothing spent.
    """
    account = await spending.user_account(session, user.id)
    allow(account, body)
    account.raised = 0
    await session.flush()
    target = (AuditTarget.SPENDING_LIMIT, user.id)
    trail.record(session, AuditAction.SPENDING_LIMIT_CHANGED, target, limit=body.limit, period=body.period)
    publish_after_commit(session, request.state.pubsub, user.id, [SPENT])
    return await _current_limits(session, user.id)


@router.post("/raise")
async def raise_spending_limit(
    user: CurrentUser, trail: CurrentTrail, session: Session, request: Request, body: RaiseSpendingLimit
) -> SpendingLimit:
    """Raises the user's limit for the current period, so that agents that have reached the limit can
    continue. Afterwards the user can spend at least `by` more dollars. If more than the limit is already
    spent, the limit is therefore raised by the excess and by `by`.

    Changes nothing if the user has no limit. The administrator's limit does not change.
    """
    account = await spending.user_account(session, user.id)
    if account.limit is not None:
        missing = max(account.spent - account.limit, 0)
        account.raised += missing + spending.to_micros(body.by)
    await session.flush()
    target = (AuditTarget.SPENDING_LIMIT, user.id)
    trail.record(session, AuditAction.SPENDING_LIMIT_CHANGED, target, raised_by=body.by)
    publish_after_commit(session, request.state.pubsub, user.id, [SPENT])
    return await _current_limits(session, user.id)


def allow(account: SpendingAccount, limit: SetSpendingLimit) -> None:
    """Changes the limit and the period of a spending account (a limit with the amount that was spent) to
    those in `limit`. If the current period has ended according to the new kind of period, starts a new one
    with nothing spent.
    """
    account.allowed = None if limit.limit is None else spending.to_micros(limit.limit)
    account.period = Period(limit.period)
    spending.begin_anew_if_due(account)


def limit_fields(account: SpendingAccount) -> dict[str, object]:
    """Returns the fields of the reply AdministeredLimit for a spending account (a limit with the amount that
    was spent). The fields are the limit, the period, the beginning of the period, and the spent dollars.
    """
    return {
        "limit": None if account.allowed is None else account.allowed / MICROS,
        "period": account.period.value,
        "spent": account.spent / MICROS,
        "began_at": spending.start_of(account.period, account.began_at),
    }


async def read_limit(session: AsyncSession, user_id: UUID) -> SpendingLimit:
    """Returns the user's spending limits and the spent amounts. Does not lock or change rows."""
    own, administered = await spending.seen_accounts(session, user_id)
    return _limits(own, administered)


async def _current_limits(session: Session, user_id: UUID) -> SpendingLimit:
    own = await spending.user_account(session, user_id)
    administered = await spending.administered_account(session, user_id)
    return _limits(own, administered)


def _limits(own: SpendingAccount, administered: SpendingAccount) -> SpendingLimit:
    return SpendingLimit.model_validate(
        {
            **limit_fields(own),
            "raised": own.raised / MICROS,
            "administered": None if administered.allowed is None else limit_fields(administered),
        }
    )
