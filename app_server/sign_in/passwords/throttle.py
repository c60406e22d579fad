"""Slows down the guessing of passwords and codes, for each login name and each address.

The counts stand in the database, so they hold for all app servers and survive a restart. An attempt counts
as a failure before it is judged: attempts at once are not more than those one after another. A throttled
account can be used in any other way: sessions, links, keys and single sign-on go on.
"""

import hashlib
import ipaddress
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import delete, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Database, now
from app_server.sign_in.passwords.models import SignInThrottle
from app_server.sign_in.passwords.refusals import throttled

FIRST_BLOCK = timedelta(seconds=30)
LONGEST_BLOCK = timedelta(minutes=15)
KEPT = timedelta(days=1)
TIDY_SECONDS: Final = 3600.0


@dataclass(frozen=True)
class Counted:
    """What failures are counted for. free: how many have no consequence; forgotten_after: without more."""

    key: str
    free: int
    forgotten_after: timedelta

    @property
    def key_hash(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()


def of_login(login_key: str) -> Counted:
    return Counted(f"login:{login_key}", free=10, forgotten_after=KEPT)


def of_settings(user_id: UUID) -> Counted:
    """For passwords and codes that a signed-in user gives: strangers cannot use it up."""
    return Counted(f"settings:{user_id.hex}", free=10, forgotten_after=KEPT)


def of_address(address: str) -> Counted:
    """Many people may share one. Of IPv6 the first 64 bits count: who has one of them has all."""
    try:
        told = ipaddress.ip_address(address)
    except ValueError:
        told = None
    if told is not None and told.version == 6:
        mapped = ipaddress.IPv6Address(told).ipv4_mapped
        address = str(mapped or ipaddress.ip_network((told, 64), strict=False))
    return Counted(f"address:{address}", free=50, forgotten_after=timedelta(hours=1))


async def begin_attempt(database: Database, counted: Sequence[Counted]) -> None:
    """Counts a failure for each, until `forgive` or `take_back`.

    Raises TooManyRequests `sign_in_throttled` with `Retry-After`: then nothing was counted.
    """
    moment = now()
    async with database.session() as session:
        blocked_until = moment
        # In one order, so that no two attempts wait for each other.
        for one in sorted(counted, key=lambda each: each.key_hash):
            row = await _locked(session, one, moment)
            if row.blocked_until is not None and row.blocked_until > moment:
                blocked_until = max(blocked_until, row.blocked_until)
                continue
            if moment - row.last_at > one.forgotten_after:
                row.failures = 0
            row.failures += 1
            row.last_at = moment
            row.blocked_until = _block(row.failures - one.free, moment)
        if blocked_until > moment:
            raise throttled(math.ceil((blocked_until - moment).total_seconds()))


async def forgive(session: AsyncSession, account: Counted, others: Sequence[Counted] = ()) -> None:
    """After a success: all failures of the account, and this one attempt of the others."""
    await session.execute(delete(SignInThrottle).where(SignInThrottle.key_hash == account.key_hash))
    await take_back(session, others)


async def take_back(session: AsyncSession, counted: Sequence[Counted]) -> None:
    """For an attempt that was no failure."""
    for one in sorted(counted, key=lambda each: each.key_hash):
        row = update(SignInThrottle).where(
            SignInThrottle.key_hash == one.key_hash, SignInThrottle.failures > 0
        )
        await session.execute(row.values(failures=SignInThrottle.failures - 1, blocked_until=None))


async def tidy(database: Database) -> None:
    """Deletes what no longer counts."""
    async with database.session() as session:
        await session.execute(delete(SignInThrottle).where(SignInThrottle.last_at < now() - KEPT))


def _block(failures_too_many: int, moment: datetime) -> datetime | None:
    if failures_too_many < 0:
        return None
    doublings = min(failures_too_many, 10)
    block: timedelta = FIRST_BLOCK * 2**doublings
    return moment + min(block, LONGEST_BLOCK)


async def _locked(session: AsyncSession, counted: Counted, moment: datetime) -> SignInThrottle:
    """The row, made if there is none; others wait for it until the end of the transaction."""
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(SignInThrottle).values(key_hash=counted.key_hash, failures=0, last_at=moment)
    locked = row.on_conflict_do_update(
        index_elements=["key_hash"], set_={"key_hash": row.excluded.key_hash}
    ).returning(SignInThrottle)
    return (await session.scalars(locked)).one()
