"""Reads and changes the spending accounts: what users and conversations may spend on models, and what they
have spent. Each user has three accounts. The first has the limit that the user has set. The second has the
limit that an administrator has set. The third has no limit and counts what the user spends in each month.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.llm_gateway.limits.models import MICROS, Period, SpendingAccount, SpendingDefault
from app_server.llm_gateway.limits.program_usage import ProgramUsage
from app_server.settings.task_budget import is_budget_enforced


@dataclass(frozen=True)
class Payer:
    """The user who pays for a model call. `conversation_id`: the conversation that makes the call and whose
    limit also applies; None if the user makes the call without a conversation. `is_program`: whether a
    program in the sandbox makes the call, and not the agent.
    """

    user_id: UUID
    conversation_id: UUID | None = None
    is_program: bool = False

    @property
    def periods(self) -> dict[UUID, Period]:
        """The ids of the spending accounts to which a call of this payer is charged, each with the period
        that a new account gets. The accounts are the three accounts of the user and, if a conversation makes
        the call, the account of the conversation.
        """
        of_conversation = {self.conversation_id: Period.WHOLE} if self.conversation_id else {}
        own = (self.user_id, administered_id(self.user_id), monthly_id(self.user_id))
        return {**dict.fromkeys(own, Period.MONTH), **of_conversation}


def administered_id(user_id: UUID) -> UUID:
    """Returns the id of the user's spending account that has the limit of an administrator."""
    return uuid5(user_id, "administrator")


def monthly_id(user_id: UUID) -> UUID:
    """Returns the id of the user's spending account that has no limit. It counts what the user spends on
    models in each month, for the budgets of teams and of the organisation.
    """
    return uuid5(user_id, "month")


async def locked_accounts(session: AsyncSession, payer: Payer) -> list[SpendingAccount]:
    """Returns the spending accounts to which a model call of this payer is charged. Creates missing accounts.
    If the period of an account has ended, starts a new period. The rows are locked until this transaction
    ends.
    """
    await ensure_accounts(session, payer)
    query = (
        select(SpendingAccount)
        .where(SpendingAccount.id.in_(payer.periods))
        # Always in the same order, so that two transactions do not deadlock.
        .order_by(SpendingAccount.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    accounts = list((await session.scalars(query)).all())
    for account in accounts:
        begin_anew_if_due(account)
    return accounts


async def ensure_accounts(session: AsyncSession, payer: Payer) -> None:
    insert = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgres_insert
    new = {"user_id": payer.user_id, "began_at": now(), "raised": 0, "spent": 0}
    own = {"allowed": None, "follows_default": None}
    # Locked, so that a change of the default and this insert do not overlap.
    default = await default_limit(session, lock=True)
    everybodys = {"allowed": default.allowed, "period": default.period, "follows_default": True}
    administered = administered_id(payer.user_id)
    rows = [
        {"id": id_, "period": period, **new, **(everybodys if id_ == administered else own)}
        for id_, period in sorted(payer.periods.items())
    ]
    await session.execute(insert(SpendingAccount).on_conflict_do_nothing(index_elements=["id"]), rows)


async def user_account(session: AsyncSession, user_id: UUID) -> SpendingAccount:
    """Returns the user's spending account that has the limit of the user's choice. The database row is locked
    until the transaction ends.
    """
    return await _account(session, Payer(user_id), user_id)


async def administered_account(session: AsyncSession, user_id: UUID) -> SpendingAccount:
    """Returns the user's spending account that has the limit of an administrator. The database row is locked
    until the transaction ends.
    """
    return await _account(session, Payer(user_id), administered_id(user_id))


async def seen_accounts(session: AsyncSession, user_id: UUID) -> tuple[SpendingAccount, SpendingAccount]:
    """Returns copies of the user's two accounts with limits: first the one with the limit that the user has
    set, then the one with the administrator's limit. If an account is not stored yet, returns a new one with
    nothing spent. Changes of the copies are not stored. The function does not lock or create rows.
    """
    own_id, administered = user_id, administered_id(user_id)
    query = select(SpendingAccount.__table__).where(SpendingAccount.id.in_([own_id, administered]))
    rows = {row["id"]: row for row in (await session.execute(query)).mappings()}
    default = await default_limit(session)
    new = {"user_id": user_id, "began_at": now(), "raised": 0, "spent": 0, "period": Period.MONTH}
    accounts = (
        SpendingAccount(**rows.get(own_id, {"id": own_id, **new, "allowed": None})),
        SpendingAccount(
            **rows.get(
                administered,
                {"id": administered, **new, "allowed": default.allowed, "period": default.period},
            )
        ),
    )
    for account in accounts:
        begin_anew_if_due(account)
    return accounts


async def administered_accounts(session: AsyncSession) -> Sequence[SpendingAccount]:
    """Returns all existing accounts with the administrator's limit. A user who has not called a model may
    have no such account.
    """
    query = select(SpendingAccount).where(SpendingAccount.follows_default.is_not(None))
    return (await session.scalars(query)).all()


async def default_limit(session: AsyncSession, *, lock: bool = False) -> SpendingDefault:
    """Returns the default spending limit, which applies to all users without an individual limit. `lock`:
    whether to lock the row of the default limit against changes until this transaction ends.
    """
    query = select(SpendingDefault)
    return (await session.scalars(query.with_for_update(read=True) if lock else query)).one()


async def set_default(session: AsyncSession, allowed: int | None, period: Period) -> SpendingDefault:
    """Sets the default spending limit (the limit of users without an individual limit). Also changes the
    accounts of all users to which the default limit applies. Returns the row of the default limit.
    `allowed`: the limit in millionths of a dollar; None means no limit.
    """
    default = (await session.scalars(select(SpendingDefault).with_for_update())).one()
    default.allowed, default.period = allowed, period
    followers = update(SpendingAccount).where(SpendingAccount.follows_default.is_(True))
    await session.execute(followers.values(allowed=allowed, period=period))
    await session.flush()
    return default


async def allow_conversation(
    session: AsyncSession, payer: Payer, dollars: float | None, *, spent_before: float = 0.0
) -> None:
    """Sets how much a conversation may cost in total. `dollars`: the limit; None means no limit.

    `spent_before`: the cost of the conversation until now in dollars, according to the caller. The spending
    account may have counted more, because it also counts replies that broke off. The limit is then raised by
    the difference, so that the conversation can still spend what the caller expects. For example, if
    `dollars` is 5 and `spent_before` is 2, the caller expects that 3 dollars remain. If the account has
    counted 3 dollars, the limit becomes 6.
    """
    account = await _conversation_account(session, payer)
    uncounted = max(account.spent - to_micros(spent_before), 0)
    account.allowed = None if dollars is None else to_micros(dollars) + uncounted
    account.share = account.share or account.allowed


async def cost_of_programs(session: AsyncSession, conversation_id: UUID) -> float:
    """Returns what programs in the sandbox have spent for the conversation, in dollars."""
    query = select(SpendingAccount.program_usage).where(SpendingAccount.id == conversation_id)
    return ProgramUsage.model_validate(await session.scalar(query) or {}).cost


async def allow_as_much_again(session: AsyncSession, payer: Payer) -> None:
    """Raises the limit of a conversation that has spent its budget, so that the conversation can continue. It
    may then spend the amount of its first limit again. For example, if the first limit was 5 dollars and 6
    dollars are spent, the new limit is 11 dollars.

    Changes nothing if the budget is not spent, or if the organisation or a team enforces how much each
    conversation may cost.
    """
    if await is_budget_enforced(session, payer.user_id):
        return
    account = await _conversation_account(session, payer)
    if account.allowed is not None and account.spent >= account.allowed:
        account.allowed = account.spent + (account.share or account.allowed)


async def forget_conversation(session: AsyncSession, conversation_id: UUID) -> None:
    await session.execute(delete(SpendingAccount).where(SpendingAccount.id == conversation_id))


def begin_anew_if_due(account: SpendingAccount) -> None:
    if start_of(account.period, now()) > account.began_at:
        account.began_at, account.spent, account.raised = now(), 0, 0


def start_of(period: Period, moment: datetime) -> datetime:
    """Returns the time in UTC at which the period that contains `moment` began."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case Period.DAY:
            return midnight
        case Period.MONTH:
            return midnight.replace(day=1)
        case Period.WHOLE:
            return datetime.min.replace(tzinfo=moment.tzinfo)


def end_of(period: Period, moment: datetime) -> datetime | None:
    """Returns the time in UTC at which the next period begins. Returns None for WHOLE, the period that never
    ends.
    """
    match period:
        case Period.DAY:
            return start_of(period, moment) + timedelta(days=1)
        case Period.MONTH:
            return start_of(period, start_of(period, moment) + timedelta(days=32))
        case Period.WHOLE:
            return None


def to_micros(dollars: float) -> int:
    return round(dollars * MICROS)


async def _conversation_account(session: AsyncSession, payer: Payer) -> SpendingAccount:
    assert payer.conversation_id is not None
    return await _account(session, payer, payer.conversation_id)


async def _account(session: AsyncSession, payer: Payer, account_id: UUID) -> SpendingAccount:
    accounts = await locked_accounts(session, payer)
    return next(account for account in accounts if account.id == account_id)
