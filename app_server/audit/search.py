"""Finds entries of the audit log by time, actor, action and target, page by page."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.audit.actions import AuditAction, AuditOutcome, AuditTarget
from app_server.audit.models import AuditEntry
from app_server.core.database import Database

EXPORT_BATCH = 500


@dataclass(frozen=True)
class AuditFilter:
    """The conditions that an entry of the audit log must meet. None and an empty tuple mean no condition. An
    entry at the time `since` is included, an entry at the time `until` is not.
    """

    since: datetime | None = None
    until: datetime | None = None
    actor_id: UUID | None = None
    actions: tuple[AuditAction, ...] = ()
    target_kind: AuditTarget | None = None
    target_id: str | None = None
    outcome: AuditOutcome | None = None
    organisation_id: UUID | None = None

    def apply(self, query: Select[AuditEntry]) -> Select[AuditEntry]:
        if self.since is not None:
            query = query.where(AuditEntry.happened_at >= self.since)
        if self.until is not None:
            query = query.where(AuditEntry.happened_at < self.until)
        if self.actions:
            query = query.where(AuditEntry.action.in_(self.actions))
        for column, value in (
            (AuditEntry.actor_id, self.actor_id),
            (AuditEntry.target_kind, self.target_kind),
            (AuditEntry.target_id, self.target_id),
            (AuditEntry.outcome, self.outcome),
            (AuditEntry.organisation_id, self.organisation_id),
        ):
            if value is not None:
                query = query.where(column == value)
        return query


async def search(
    session: AsyncSession, wanted: AuditFilter, *, before: int | None, limit: int
) -> tuple[Sequence[AuditEntry], int | None]:
    """Returns a pair: one page of the entries that meet the conditions `wanted`, newest first, and the value
    of `before` for the next page. This value is None on the last page.

    `before`: only entries with smaller ids are returned; None for the first page. `limit`: the maximum number
    of entries on the page.
    """
    query = wanted.apply(select(AuditEntry)).order_by(AuditEntry.id.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(AuditEntry.id < before)
    found = (await session.scalars(query)).all()
    page = found[:limit]
    return page, page[-1].id if len(found) > limit else None


async def every(database: Database, wanted: AuditFilter) -> AsyncIterator[AuditEntry]:
    """Yields the entries that meet the conditions `wanted`, oldest first. Leaves out entries that are added
    after the reading began.

    Reads the entries in batches, each in a short transaction. So no transaction stays open while the caller
    uses the entries.
    """
    async with database.read() as session:
        newest = await session.scalar(select(func.max(AuditEntry.id))) or 0
    after, has_more = 0, True
    while has_more:
        query = wanted.apply(select(AuditEntry)).where(AuditEntry.id > after, AuditEntry.id <= newest)
        async with database.read() as session:
            found = (await session.scalars(query.order_by(AuditEntry.id).limit(EXPORT_BATCH))).all()
        for entry in found:
            yield entry
            after = entry.id
        has_more = len(found) == EXPORT_BATCH
