"""Reads the records of the hosts that sandboxes tried to reach."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.egress.models import EgressRecord

MAX_REFUSED = 500


async def search(
    session: AsyncSession,
    user_id: UUID,
    *,
    sandbox_id: UUID | None = None,
    before: tuple[datetime, UUID] | None = None,
    limit: int,
) -> Sequence[EgressRecord]:
    """Returns records of the hosts that the user's sandboxes tried to reach, latest first.

    sandbox_id: None means all sandboxes of the user. before: the time and the id of a record; only older
    records are returned. None means the latest records.
    """
    query = select(EgressRecord).where(EgressRecord.user_id == user_id)
    if sandbox_id is not None:
        query = query.where(EgressRecord.sandbox_id == sandbox_id)
    if before is not None:
        query = query.where(tuple_(EgressRecord.last_at, EgressRecord.id) < before)
    query = query.order_by(EgressRecord.last_at.desc(), EgressRecord.id.desc()).limit(limit)
    return (await session.scalars(query)).all()


async def refused(session: AsyncSession, sandbox_id: UUID) -> Sequence[EgressRecord]:
    """Returns the records of the sandbox's refused requests, latest first, at most MAX_REFUSED. One record
    counts the requests to one host and port within one hour.
    """
    query = (
        select(EgressRecord)
        .where(EgressRecord.sandbox_id == sandbox_id, EgressRecord.reason != "")
        .order_by(EgressRecord.last_at.desc())
        .limit(MAX_REFUSED)
    )
    return (await session.scalars(query)).all()
