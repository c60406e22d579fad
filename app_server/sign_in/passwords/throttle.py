"""Slows down the guessing of passwords and codes, for each login name and each client address.

The counts of failed attempts are stored in the database. So the limits apply to all app servers, and remain
after a restart. Each attempt is counted as a failure before it is checked, and a success removes the failure
later. So an attacker who sends many attempts at the same time gets no more of them than an attacker who sends
them one after another. While password attempts for an account are blocked, its user can still use sessions,
sign-in links, API keys and single sign-on.
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
from app_server.core.jobs.policy import Handler, JobAttempt
from app_server.sign_in.passwords.models import SignInThrottle
from app_server.sign_in.passwords.refusals import throttled

FIRST_BLOCK = timedelta(seconds=30)
LONGEST_BLOCK = timedelta(minutes=15)
RETENTION = timedelta(days=1)
TIDY_KIND: Final = "failed_sign_ins.tidy"
TIDY_EVERY: Final = timedelta(hours=1)


@dataclass(frozen=True)
class Counted:
    """A description of one counter of failed attempts: its name (`key`) and its limits. There are counters
    for a login name, for a client address, for the passwords and codes that a signed-in user enters in the
    settings, and for the sign-in of devices.

    `free`: the number of failures after which attempts are blocked for a time. Each further failure makes the
    time longer, up to LONGEST_BLOCK. `forgotten_after`: after this long without a failure, the count starts
    again from zero.
    """

    key: str
    free: int
    forgotten_after: timedelta

    @property
    def key_hash(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()


def of_login(login_key: str) -> Counted:
    return Counted(f"login:{login_key}", free=10, forgotten_after=RETENTION)


def of_settings(user_id: UUID) -> Counted:
    """Returns the counter for passwords and codes that a signed-in user enters in the settings. Sign-ins have
    another counter. So another person who tries to sign in with a wrong password cannot block the settings of
    the signed-in user.
    """
    return Counted(f"settings:{user_id.hex}", free=10, forgotten_after=RETENTION)


def of_address(address: str) -> Counted:
    """Returns the counter for a client address, which many people may share. All IPv6 addresses with the same
    first 64 bits have one counter, because one client usually controls all of them.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        parsed = None
    if parsed is not None and parsed.version == 6:
        mapped = ipaddress.IPv6Address(parsed).ipv4_mapped
        address = str(mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return Counted(f"address:{address}", free=50, forgotten_after=timedelta(hours=1))


async def begin_attempt(database: Database, counted: Sequence[Counted]) -> None:
    """Adds one failure to each counter in `counted`, before an attempt (such as a sign-in) is checked. If the
    attempt succeeds, `forgive` or `take_back` removes the failure.

    If one of the counters blocks attempts at the moment, adds no failure and raises TooManyRequests
    `sign_in_throttled` with the header `Retry-After`.
    """
    moment = now()
    async with database.session() as session:
        blocked_until = moment
        # Always in the same order, so that no two attempts deadlock.
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
    """Removes failures after an attempt has succeeded: all failures of the counter `account`, and from each
    counter in `others` only the one failure that `begin_attempt` has added. `others`: counters that other
    people share, such as the counter of a client address; the failures of these people must remain.
    """
    await session.execute(delete(SignInThrottle).where(SignInThrottle.key_hash == account.key_hash))
    await take_back(session, others)


async def take_back(session: AsyncSession, counted: Sequence[Counted]) -> None:
    """Removes from each counter in `counted` the one failure that `begin_attempt` has added. Earlier failures
    remain. Called for an attempt that is not a failure, for example because the password was right but the
    code is still missing.
    """
    for one in sorted(counted, key=lambda each: each.key_hash):
        row = update(SignInThrottle).where(
            SignInThrottle.key_hash == one.key_hash, SignInThrottle.failures > 0
        )
        await session.execute(row.values(failures=SignInThrottle.failures - 1, blocked_until=None))


async def tidy(database: Database) -> None:
    """Deletes the counters of failed attempts that had no new failure for a day."""
    async with database.session() as session:
        await session.execute(delete(SignInThrottle).where(SignInThrottle.last_at < now() - RETENTION))


def _block(failures_too_many: int, moment: datetime) -> datetime | None:
    if failures_too_many < 0:
        return None
    doublings = min(failures_too_many, 10)
    block: timedelta = FIRST_BLOCK * 2**doublings
    return moment + min(block, LONGEST_BLOCK)


async def _locked(session: AsyncSession, counted: Counted, moment: datetime) -> SignInThrottle:
    """Returns the database row of a counter of failed attempts, and creates the row if there is none. Locks
    the row until the transaction ends. `moment`: the present time, for a new row.
    """
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(SignInThrottle).values(key_hash=counted.key_hash, failures=0, last_at=moment)
    locked = row.on_conflict_do_update(
        index_elements=["key_hash"], set_={"key_hash": row.excluded.key_hash}
    ).returning(SignInThrottle)
    return (await session.scalars(locked)).one()


def tidier(database: Database) -> Handler:
    """Returns the function (job handler) that deletes old counters of failed attempts."""

    async def run(_attempt: JobAttempt) -> None:
        await tidy(database)

    return run
