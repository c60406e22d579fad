"""The calls of this process to models: reserved before they go out, renewed, settled when they are over.

A call is let through as long as its limits are not reached by what is spent and what calls under way have
reserved. So calls side by side exceed a limit by one reservation at most, as calls one after the other do.
A call waits until this process has counted the ended calls of the same user: an agent asks again within
milliseconds.

Every call waits for this, so its statements are built once and fetch rows, not objects of a session.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import timedelta
from uuid import UUID, uuid4

from sqlalchemy import BindParameter, bindparam, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.background import Background
from app_server.core.database import Base, Database, now
from app_server.llm_gateway.limits.models import Period, SpendingAccount, SpendingReservation
from app_server.llm_gateway.limits.refusals import price_unknown, reached
from app_server.llm_gateway.limits.spending import Payer, begin_anew_if_due, ensure_accounts

LEASE = timedelta(seconds=90)
RENEWAL_SECONDS = 20.0

_ACCOUNTS, _RESERVATIONS = (
    Base.metadata.tables[each.__tablename__] for each in (SpendingAccount, SpendingReservation)
)
_accounts, _reservations = _ACCOUNTS.c, _RESERVATIONS.c
_ids: BindParameter[Collection[UUID]] = bindparam("ids", expanding=True)

_ALLOWED = select(_accounts.id, _accounts.allowed).where(_accounts.id.in_(_ids))
# In one order for everybody, or else two might wait for each other.
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
    .values({name: bindparam(f"new_{name}") for name in ("began_at", "raised", "spent")})
)


class Spending:
    """`renew` has to run every RENEWAL_SECONDS."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: set[UUID] = set()
        self._settling = Background()
        self._unsettled: defaultdict[UUID, set[asyncio.Task[None]]] = defaultdict(set)

    async def reserve(self, payer: Payer, micros: int | None) -> UUID:
        """The id of a call that may begin. micros: what it may cost; None if that is unknown.

        Raises PaymentRequired when one of the payer's limits is reached, or cannot be kept.
        """
        call_id = uuid4()
        allowed = await self._allowed(payer)
        # Most have no limit, and need not wait for a write before each call.
        if any(amount is not None for amount in allowed.values()):
            if unsettled := self._unsettled.get(payer.user_id):
                await asyncio.wait(unsettled.copy())
            async with self._database.brief_session() as session:
                await _reserve(session, payer, call_id, micros)
            self._open.add(call_id)
        return call_id

    def settle(self, call_id: UUID, payer: Payer, micros: int) -> None:
        """Puts what the call has cost in place of what it had reserved, in the background."""
        task = self._settling.start(self._settle(call_id, payer, micros), name="settle a call")
        self._unsettled[payer.user_id].add(task)
        task.add_done_callback(lambda done: self._settled(payer.user_id, done))

    async def release_all(self) -> None:
        """For the only server of a database, when it starts: calls of an earlier one are over."""
        async with self._database.session() as session:
            await session.execute(delete(SpendingReservation))

    async def renew(self) -> None:
        """Keeps the reservations of calls that are still under way, and clears those that have lapsed."""
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
        """By account. Each of the payer's is there afterwards: what everybody is allowed stands in it."""
        if len(allowed := await self._stored(payer)) < len(payer.periods):
            async with self._database.brief_session() as session:
                await ensure_accounts(session, payer)
            allowed = await self._stored(payer)
        return allowed

    async def _stored(self, payer: Payer) -> Mapping[UUID, int | None]:
        async with self._database.brief_read() as session:
            rows = await session.execute(_ALLOWED, {"ids": list(payer.periods)})
        return {row.id: row.allowed for row in rows}

    async def _settle(self, call_id: UUID, payer: Payer, micros: int) -> None:
        self._open.discard(call_id)
        await self._allowed(payer)
        async with self._database.brief_session() as session:
            counted = [
                {
                    "account": account.id,
                    "new_began_at": account.began_at,
                    "new_raised": account.raised,
                    "new_spent": account.spent + micros,
                }
                for account in await _locked(session, payer)
            ]
            await session.execute(_COUNT, counted)
            await session.execute(_RELEASE, {"call": call_id})


async def _reserve(session: AsyncSession, payer: Payer, call_id: UUID, micros: int | None) -> None:
    limited = [account for account in await _locked(session, payer) if account.limit is not None]
    reserved = await _reserved(session, [account.id for account in limited])
    for account in limited:
        under_way = reserved.get(account.id, 0)
        if account.limit is not None and account.spent + under_way >= account.limit:
            raise reached(account, under_way)
        if micros is None and account.period is not Period.WHOLE:
            raise price_unknown()
    if limited:
        lease = {"call_id": call_id, "amount": micros or 0, "lease_until": now() + LEASE}
        await session.execute(_RESERVE, [{**lease, "account_id": account.id} for account in limited])


async def _locked(session: AsyncSession, payer: Payer) -> list[SpendingAccount]:
    """The payer's as far as there are any, in their present periods; copies that belong to no session.

    They are locked until this transaction ends.
    """
    rows = await session.execute(_LOCKED, {"ids": list(payer.periods)})
    accounts = [SpendingAccount(**row) for row in rows.mappings()]
    for account in accounts:
        begin_anew_if_due(account)
    return accounts


async def _reserved(session: AsyncSession, account_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """What calls under way have reserved of each. Those whose server is gone lose it after a while."""
    rows = await session.execute(_RESERVED, {"ids": list(account_ids), "now": now()})
    return {account_id: int(amount) for account_id, amount in rows}
