"""Writes records of the hosts that sandboxes tried to reach. A request is recorded before it is sent. The
number of its bytes is added to the record when the request has ended.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Database, now
from app_server.egress.models import EgressRecord
from app_server.egress.policy import Reason
from app_server.sandbox_records.models import Sandbox

MAX_HOSTS_PER_HOUR = 300
"""The maximum number of targets (hosts and ports) with a separate record for one sandbox in an hour. The
requests to all other targets are counted in one common record.
"""

FURTHER_HOSTS = "(further hosts)"

OnRefused = Callable[[UUID], None]


@dataclass(frozen=True)
class EgressTarget:
    """A host and port that a program in a sandbox tries to reach. client: the name of the program, which is
    the first word of the header `User-Agent` of its request; empty if there is none.
    """

    sandbox_id: UUID
    user_id: UUID
    host: str
    port: int
    client: str = ""


@dataclass
class _Sum:
    client: str
    count: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    moment: datetime = field(default_factory=now)


_Key = tuple[UUID, UUID, datetime, str, int, str]


@dataclass
class _Batch:
    sums: dict[_Key, _Sum] = field(default_factory=dict)
    is_written: bool = False


class EgressLog:
    """The log of the egress proxy: it writes database records of the hosts that sandboxes tried to reach.
    Records that arrive at the same time are written in one transaction.

    on_refused: a function that is called when the proxy refuses a sandbox's request to a host for the first
    time in an hour. Its argument is the sandbox's id.
    """

    def __init__(self, database: Database, on_refused: OnRefused) -> None:
        self._database = database
        self._on_refused = on_refused
        self._next = _Batch()
        self._writing = asyncio.Lock()

    async def note(
        self,
        target: EgressTarget,
        reason: Reason | None = None,
        *,
        count: int = 1,
        bytes_sent: int = 0,
        bytes_received: int = 0,
    ) -> None:
        """Adds requests and bytes to the record of this target and reason in the current hour. Returns when
        the record is written to the database.

        reason: why the request was refused; None if it was not refused. count: the number of requests to add.
        """
        moment = now()
        hour = moment.replace(minute=0, second=0, microsecond=0)
        key = (target.sandbox_id, target.user_id, hour, target.host, target.port, reason or "")
        batch = self._next
        entry = batch.sums.setdefault(key, _Sum(target.client))
        entry.client, entry.moment = target.client or entry.client, moment
        entry.count += count
        entry.bytes_sent += bytes_sent
        entry.bytes_received += bytes_received
        async with self._writing:
            # The first task writes the batch for all tasks that wait. If it fails, the next task tries again.
            if not batch.is_written:
                await self._write(batch)

    async def _write(self, batch: _Batch) -> None:
        if batch is self._next:
            self._next = _Batch()
        refused: set[UUID] = set()
        async with self._database.session() as session:
            named = {key[0] for key in batch.sums}
            there = set(await session.scalars(select(Sandbox.id).where(Sandbox.id.in_(named))))
            for key, entry in batch.sums.items():
                if key[0] in there and await _add(session, key, entry) and key[-1]:
                    refused.add(key[0])
        batch.is_written = True
        for sandbox_id in refused:
            self._on_refused(sandbox_id)


async def _add(session: AsyncSession, key: _Key, entry: _Sum) -> bool:
    """Adds numbers of requests and bytes to the database record for `key`. Creates the record if there is
    none. Returns whether a new record for `key` was created.

    `key`: the sandbox, the user, the hour, the host, the port, and the reason of the refusal. `entry`: the
    numbers to add. A sandbox has records for at most MAX_HOSTS_PER_HOUR keys in one hour. For further keys,
    the numbers are added to a common record; there is one common record for each reason.
    """
    sandbox_id, user_id, hour, host, port, reason = key
    in_hour = (EgressRecord.sandbox_id == sandbox_id, EgressRecord.hour == hour)
    known = select(EgressRecord.id).where(
        *in_hour, EgressRecord.host == host, EgressRecord.port == port, EgressRecord.reason == reason
    )
    is_new = await session.scalar(known) is None
    if is_new:
        rows = await session.scalar(select(func.count()).select_from(EgressRecord).where(*in_hour))
        if (rows or 0) >= MAX_HOSTS_PER_HOUR:
            host, port, is_new = FURTHER_HOSTS, 0, False
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(EgressRecord).values(
        id=uuid4(),
        sandbox_id=sandbox_id,
        user_id=user_id,
        hour=hour,
        host=host,
        port=port,
        reason=reason,
        client=entry.client,
        count=entry.count,
        bytes_sent=entry.bytes_sent,
        bytes_received=entry.bytes_received,
        first_at=entry.moment,
        last_at=entry.moment,
    )
    changed: dict[str, Any] = {name: row.excluded[name] for name in ("client", "last_at")}
    for name in ("count", "bytes_sent", "bytes_received"):
        changed[name] = getattr(EgressRecord, name) + row.excluded[name]
    await session.execute(
        row.on_conflict_do_update(
            index_elements=["sandbox_id", "hour", "host", "port", "reason"], set_=changed
        )
    )
    return is_new
