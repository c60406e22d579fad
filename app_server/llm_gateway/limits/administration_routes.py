"""Routes with which administrators limit what users spend on models: a default limit for all users, and
limits for single users.
"""

from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy import Select, select

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.access.route_access import permission_missing
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Id, ReadSession, Session, now
from app_server.core.errors import NotFound
from app_server.core.pubsub import EVERYONE, publish_after_commit
from app_server.llm_gateway.limits import spending
from app_server.llm_gateway.limits.calls import SPENT
from app_server.llm_gateway.limits.limit_routes import (
    AdministeredLimit,
    SetSpendingLimit,
    allow,
    limit_fields,
)
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount, SpendingDefault
from app_server.llm_gateway.limits.shared_budgets import shared_budgets
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/administration/spending-limits", tags=["Administration"])


class UserLimit(AdministeredLimit):
    """The reply about the spending limit of one user that administrators have set. `follows_default`: true if
    this is the default limit of all users, because the user has no individual limit.
    """

    user_id: Id
    name: str
    follows_default: bool


class SharedBudgetInfo(BaseModel):
    """A monthly budget of a team, or of the organisation if `team_id` is null. limit: the budget in dollars.
    spent: the dollars that the members have spent in this month.
    """

    team_id: Id | None
    team_name: str | None
    limit: float
    spent: float


class SpendingLimits(BaseModel):
    """The reply with the spending limits that administrators have set. `default`: the limit of users who have
    no individual limit in `users`. `budgets`: the amounts that all members of a team, or all users of the
    organisation, may spend together in a month.
    """

    default: SetSpendingLimit
    users: list[UserLimit]
    budgets: list[SharedBudgetInfo]


@router.get("")
async def get_spending_limits(manager: CurrentUser, session: ReadSession) -> SpendingLimits:
    default = await spending.default_limit(session)
    users = (await session.scalars(_people(manager))).all()
    stored = {account.user_id: account for account in await spending.administered_accounts(session)}
    session.expunge_all()  # the shown fields may differ from the stored ones
    limits = [_user_limit(user, stored.get(user.id) or _untouched(default)) for user in users]
    budgets = [
        SharedBudgetInfo(
            team_id=one.value.team_id, team_name=one.value.team_name, limit=one.value.value, spent=one.spent
        )
        for one in await shared_budgets(session, manager.organisation_id)
    ]
    return SpendingLimits(default=_default_limit(default), users=limits, budgets=budgets)


@router.put("/default")
async def set_default_spending_limit(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    session: Session,
    request: Request,
    body: SetSpendingLimit,
) -> SetSpendingLimit:
    """Sets the default limit of the installation. The limit applies at once to all users, in all
    organisations, who have no individual limit.

    403 `permission_missing` if the caller may not manage the installation. Only administrators of the default
    organisation may do this.
    """
    if not principal.may(Permission.INSTALLATION):
        raise permission_missing(Permission.INSTALLATION)
    amount = None if body.limit is None else spending.to_micros(body.limit)
    target = (AuditTarget.SPENDING_LIMIT, "default")
    trail.record(session, AuditAction.SPENDING_LIMIT_CHANGED, target, limit=body.limit, period=body.period)
    publish_after_commit(session, request.state.pubsub, EVERYONE, [SPENT])
    return _default_limit(await spending.set_default(session, amount, Period(body.period)))


@router.put("/users/{user_id}")
async def set_spending_limit_of_user(
    manager: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    request: Request,
    user_id: UUID,
    body: SetSpendingLimit,
) -> UserLimit:
    """Sets an individual limit for one user. The limit applies at once. If the user has also set a limit,
    both limits apply. Returns the individual limit and what the user has spent in the current period.
    """
    user = await _user(session, manager, user_id)
    account = await spending.administered_account(session, user.id)
    allow(account, body)
    account.follows_default = False
    await session.flush()
    trail.record(
        session,
        AuditAction.SPENDING_LIMIT_CHANGED,
        (AuditTarget.SPENDING_LIMIT, user.id),
        name=user.name,
        limit=body.limit,
        period=body.period,
    )
    publish_after_commit(session, request.state.pubsub, user.id, [SPENT])
    return _user_limit(user, account)


@router.delete("/users/{user_id}")
async def forget_spending_limit_of_user(
    manager: CurrentUser, trail: CurrentTrail, session: Session, request: Request, user_id: UUID
) -> UserLimit:
    """Removes the individual limit of one user. From now on the default limit applies to the user. Returns
    the limit that now applies and what the user has spent in the current period.
    """
    user = await _user(session, manager, user_id)
    default = await spending.default_limit(session, lock=True)
    account = await spending.administered_account(session, user.id)
    account.allowed, account.period, account.follows_default = default.allowed, default.period, True
    spending.begin_anew_if_due(account)
    await session.flush()
    target = (AuditTarget.SPENDING_LIMIT, user.id)
    trail.record(session, AuditAction.SPENDING_LIMIT_CHANGED, target, name=user.name, follows_default=True)
    publish_after_commit(session, request.state.pubsub, user.id, [SPENT])
    return _user_limit(user, account)


def _people(manager: User) -> Select[User]:
    own = User.organisation_id == manager.organisation_id
    return select(User).where(own).order_by(User.name, User.id)


async def _user(session: Session, manager: User, user_id: UUID) -> User:
    user = await session.get(User, user_id)
    if user is None or user.organisation_id != manager.organisation_id:
        raise NotFound("There is no such user.")
    return user


def _untouched(default: SpendingDefault) -> SpendingAccount:
    """Returns a spending account (a limit and the spent amount) with the default limit and nothing spent. It
    is shown for a user without a stored account, who has never called a model. Does not store the account in
    the database.
    """
    return SpendingAccount(
        period=default.period, allowed=default.allowed, spent=0, began_at=now(), follows_default=True
    )


def _user_limit(user: User, account: SpendingAccount) -> UserLimit:
    spending.begin_anew_if_due(account)
    return UserLimit.model_validate(
        {
            **limit_fields(account),
            "user_id": user.id,
            "name": user.name,
            "follows_default": bool(account.follows_default),
        }
    )


def _default_limit(default: SpendingDefault) -> SetSpendingLimit:
    amount = None if default.allowed is None else default.allowed / MICROS
    return SetSpendingLimit.model_validate({"limit": amount, "period": default.period.value})
