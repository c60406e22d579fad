"""Charges the costs of the model calls of this process. The likely cost is reserved before a call is sent.
The reservation is renewed while the call runs. The real cost replaces the reservation when the call ends.

A call may begin if the spent amount and the reserved amounts together are below all limits. Therefore the
reservations of parallel calls exceed a limit by less than the likely cost of one call. An agent makes its
next call within milliseconds. Therefore a new call first waits until the costs of the user's ended calls are
stored.

Every model call waits for the code of this module. To be fast, its SQL statements are built only once, and
they fetch rows, not ORM objects.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

from sqlalchemy import BindParameter, bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.metering.token_counts import Usage
from app_server.core.background import Background
from app_server.core.database import Base, Database, now
from app_server.core.pubsub import Frame, PubSub
from app_server.levels.resolution import LevelValue
from app_server.llm_gateway.limits.models import Period, SpendingAccount, SpendingReservation
from app_server.llm_gateway.limits.program_usage import with_call
from app_server.llm_gateway.limits.refusals import price_unknown, reached
from app_server.llm_gateway.limits.shared_budgets import budgets_of, lock_budgets, require_remaining_budget
from app_server.llm_gateway.limits.spending import Payer, begin_anew_if_due, ensure_accounts, monthly_id

SPENT = Frame("spending")
"""The message that is published when the amount that a user has spent, or a limit of the user, has changed.
It is published in the channel of the user (the name of the channel is the user's id), or in the channel of
all users if the default limit has changed.
"""

LEASE = timedelta(seconds=90)
RENEWAL_SECONDS = 20.0

_ACCOUNTS, _RESERVATIONS = (
    Base.metadata.tables[each.__tablename__] for each in (SpendingAccount, SpendingReservation)
)
_accounts, _reservations = _ACCOUNTS.c, _RESERVATIONS.c
_ids: BindParameter[Collection[UUID]] = bindparam("ids", expanding=True)

_ALLOWED = select(_accounts.id, _accounts.allowed).where(_accounts.id.in_(_ids))
# Always in the same order, so that two transactions do not deadlock.
_LOCKED = select(*_accounts).where(_accounts.id.in_(_ids)).order_by(_accounts.id).with_for_update()
_RESERVED = (
    select(_reservations.account_id, func.sum(_reservations.amount))
    .where(_reservations.account_id.in_(_ids), _reservations.lease_until > bindparam("now"))
    .group_by(_reservations.account_id)
)
_RESERVE = insert(_RESERVATIONS)
_RELEASE = delete(_RESERVATIONS).where(_reservations.call_id == bindparam("call"))
_COUNT = (
    update(_ACCOUNTS)
    .where(_accounts.id == bindparam("account"))
    .values({name: bindparam(f"new_{name}") for name in ("began_at", "raised", "spent", "program_usage")})
)


class Spending:
    """The service that charges the costs of this process's model calls: it reserves the likely cost of each
    call and later stores the real cost. The owner of this object must call `renew` every RENEWAL_SECONDS.

    `on_program_use`: a function that is called after a program in a sandbox has used a model. Its argument is
    the id of the conversation.
    """

    def __init__(
        self,
        database: Database,
        pubsub: PubSub,
        on_program_use: Callable[[UUID], Awaitable[None]] | None = None,
    ) -> None:
        self._database = database
        self._pubsub = pubsub
        self._on_program_use = on_program_use
        self._open: set[UUID] = set()
        self._settling = Background()
        self._unsettled: defaultdict[UUID, set[asyncio.Task[None]]] = defaultdict(set)

    async def reserve(self, payer: Payer, micros: int | None) -> UUID:
        """Creates an id for a model call and returns it. If a limit or budget applies to the payer, also
        reserves the likely cost of the call. After this, the caller may send the call.

        `payer`: the user and the conversation that pay for the call. `micros`: the likely cost in millionths
        of a dollar; None if it is unknown. Raises PaymentRequired if a limit of the payer, or a monthly
        budget of a team or of the organisation, is reached. Also raises PaymentRequired if the cost is
        unknown and a monthly budget or a limit per day or month applies to the payer.
        """
        call_id = uuid4()
        allowed = await self._allowed(payer)
        async with self._database.brief_read() as session:
            budgets = await budgets_of(session, payer.user_id)
        # Most users have no limit. Their calls need not wait for a write.
        if budgets or any(amount is not None for amount in allowed.values()):
            if unsettled := self._unsettled.get(payer.user_id):
                await asyncio.wait(unsettled.copy())
            async with self._database.brief_session() as session:
                await _reserve(session, payer, budgets, call_id, micros)
            self._open.add(call_id)
        return call_id

    def settle(self, call_id: UUID, payer: Payer, micros: int, usage: Usage | None = None) -> None:
        """Stores the real cost of a call that has ended, in the background. The real cost replaces the amount
        that was reserved for the call. `micros`: the real cost in millionths of a dollar. `usage`: the
        token usage of the call; None for a call that the vendor did not answer.
        """
        task = self._settling.start(self._settle(call_id, payer, micros, usage), name="settle a call")
        self._unsettled[payer.user_id].add(task)
        task.add_done_callback(lambda done: self._settled(payer.user_id, done))

    async def release_all(self) -> None:
        """Deletes all reservations. The app server calls this method at its start if it is the only server of
        the database. All reservations then belong to an earlier server process, whose calls have ended.
        """
        async with self._database.session() as session:
            await session.execute(delete(SpendingReservation))

    async def renew(self) -> None:
        """Extends the reservations of this process's calls that are still running, and deletes expired
        reservations. Does nothing if no such call is running.

        A reservation is the likely cost of a call, as an amount of money. It expires after the time LEASE,
        unless it is extended. So the reservations of a server that has crashed do not block the user's budget
        for long.
        """
        if self._open:
            async with self._database.session() as session:
                mine = SpendingReservation.call_id.in_(list(self._open))
                await session.execute(
                    update(SpendingReservation).where(mine).values(lease_until=now() + LEASE)
                )
                await session.execute(
                    delete(SpendingReservation).where(SpendingReservation.lease_until < now())
                )

    async def close(self) -> None:
        await self._settling.drain()

    def _settled(self, user_id: UUID, task: asyncio.Task[None]) -> None:
        self._unsettled[user_id].discard(task)
        if not self._unsettled[user_id]:
            del self._unsettled[user_id]

    async def _allowed(self, payer: Payer) -> Mapping[UUID, int | None]:
        """Returns the limits of the spending accounts to which calls of this payer are charged. The keys are
        the ids of the accounts. The values are in millionths of a dollar, without temporary raises. None
        means that the account has no limit. Creates missing accounts first.

        `payer`: the user and the conversation that pay for a model call.
        """
        if len(allowed := await self._stored(payer)) < len(payer.periods):
            async with self._database.brief_session() as session:
                await ensure_accounts(session, payer)
            allowed = await self._stored(payer)
        return allowed

    async def _stored(self, payer: Payer) -> Mapping[UUID, int | None]:
        async with self._database.brief_read() as session:
            rows = await session.execute(_ALLOWED, {"ids": list(payer.periods)})
        return {row.id: row.allowed for row in rows}

    async def _settle(self, call_id: UUID, payer: Payer, micros: int, usage: Usage | None) -> None:
        self._open.discard(call_id)
        by_program = payer.conversation_id if payer.is_program and usage is not None else None
        await self._allowed(payer)
        async with self._database.brief_session() as session:
            counted = [
                {
                    "account": account.id,
                    "new_began_at": account.began_at,
                    "new_raised": account.raised,
                    "new_spent": account.spent + micros,
                    "new_program_usage": with_call(account.program_usage, usage, micros)
                    if usage is not None and account.id == by_program
                    else account.program_usage,
                }
                for account in await _locked(session, payer)
            ]
            await session.execute(_COUNT, counted)
            await session.execute(_RELEASE, {"call": call_id})
        if micros:
            self._pubsub.publish(payer.user_id, [SPENT])
        if by_program is not None and self._on_program_use is not None:
            await self._on_program_use(by_program)


async def _reserve(
    session: AsyncSession, payer: Payer, budgets: Sequence[LevelValue], call_id: UUID, micros: int | None
) -> None:
    if budgets:
        if micros is None:
            raise price_unknown()
        await lock_budgets(session, budgets)
        await require_remaining_budget(session, budgets)
    limited = [account for account in await _locked(session, payer) if account.limit is not None]
    reserved = await _reserved(session, [account.id for account in limited])
    for account in limited:
        under_way = reserved.get(account.id, 0)
        if account.limit is not None and account.spent + under_way >= account.limit:
            raise reached(account, under_way)
        if micros is None and account.period is not Period.WHOLE:
            raise price_unknown()
    held = [account.id for account in limited]
    if budgets:
        held.append(monthly_id(payer.user_id))
    if held:
        lease = {"call_id": call_id, "amount": micros or 0, "lease_until": now() + LEASE}
        await session.execute(_RESERVE, [{**lease, "account_id": account_id} for account_id in held])


async def _locked(session: AsyncSession, payer: Payer) -> list[SpendingAccount]:
    """Locks the rows of the payer's spending accounts until this transaction ends, and returns their content.
    A spending account is a limit with the amount that was spent. If the period of an account has ended, the
    returned object already has a new period with nothing spent. The returned objects are copies, so changes
    of them are not stored in the database.
    """
    rows = await session.execute(_LOCKED, {"ids": list(payer.periods)})
    accounts = [SpendingAccount(**row) for row in rows.mappings()]
    for account in accounts:
        begin_anew_if_due(account)
    return accounts


async def _reserved(session: AsyncSession, account_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Returns the amounts that running model calls have reserved, in millionths of a dollar. The keys are the
    ids of the spending accounts (limits with the amounts that were spent). Expired reservations, whose server
    no longer runs, do not count.
    """
    rows = await session.execute(_RESERVED, {"ids": list(account_ids), "now": now()})
    return {account_id: int(amount) for account_id, amount in rows}
