"""Deletes old entries of the audit log. Stores the hash of the last deleted entry, because the verification
of the remaining entries begins with this hash.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.audit.actions import AuditAction, AuditTarget
from app_server.audit.chain import SERVER, NewEntry, record
from app_server.audit.models import HEAD_ID, AuditEntry, AuditHead
from app_server.core.database import Database, now
from app_server.core.jobs.policy import Handler, JobAttempt

TRIM_KIND: Final = "audit_log.trim"
TRIM_EVERY: Final = timedelta(hours=1)
_BATCH = 5000


UnsentAfter = Callable[[AsyncSession], Awaitable[int | None]]
"""A function that returns the id of the last entry that was sent to the receiver of the audit log. The
function returns None if there is no receiver.
"""


def trimmer(database: Database, days: int, unsent_after: UnsentAfter | None = None) -> Handler:
    """Returns the function that the background job runs to delete old entries of the audit log. The
    parameters are those of `trim`.

    `days`: entries that are more than so many days old are deleted; 0 means that no entry is deleted.
    `unsent_after`: a function that returns the id of the last entry that was sent to the outside receiver of
    the log. Later entries are not deleted. If it is None, entries are deleted whether or not they were sent.
    """

    async def run(_attempt: JobAttempt) -> None:
        await trim(database, days, unsent_after)

    return run


async def trim(database: Database, days: int, unsent_after: UnsentAfter | None = None) -> None:
    """Deletes the entries of the audit log that are more than `days` days old; 0 means that no entry is
    deleted. Deletes only entries at the beginning of the log: if one entry must stay, all later entries stay
    too. Adds an entry to the log for each deleted batch.

    `unsent_after`: a function that returns the id of the last entry that was sent to the outside receiver of
    the log. Later entries are not deleted. If `unsent_after` is None, entries are deleted whether or not they
    were sent.
    """
    has_more = days > 0
    while has_more:
        async with database.session() as session:
            has_more = await _trim(session, timedelta(days=days), unsent_after) == _BATCH


async def _trim(session: AsyncSession, age: timedelta, unsent_after: UnsentAfter | None) -> int:
    """Deletes one batch of entries of the audit log that are older than `age`, and returns their number.

    `unsent_after`: a function that returns the id of the last entry that was sent to the outside receiver of
    the log. Later entries stay. If `unsent_after` or its result is None, entries are deleted whether or not
    they were sent.
    """
    locked = select(AuditHead.anchor_id, AuditHead.last_id).where(AuditHead.id == HEAD_ID).with_for_update()
    anchor_id, last_id = (await session.execute(locked)).one()
    youngest = select(func.min(AuditEntry.id)).where(AuditEntry.happened_at >= now() - age)
    first_kept = await session.scalar(youngest) or last_id + 1
    up_to = min(first_kept - 1, anchor_id + _BATCH)
    if unsent_after is not None and (sent_up_to := await unsent_after(session)) is not None:
        up_to = min(up_to, sent_up_to)
    # Entries that record a deletion do not count, because an idle server would otherwise record a deletion at
    # each run.
    countable = select(AuditEntry.id).where(
        AuditEntry.id <= up_to, AuditEntry.action != AuditAction.AUDIT_LOG_TRIMMED
    )
    if up_to <= anchor_id or await session.scalar(countable.limit(1)) is None:
        return 0
    anchor_hash = await session.scalar(select(AuditEntry.hash).where(AuditEntry.id == up_to))
    await session.execute(delete(AuditEntry).where(AuditEntry.id <= up_to))
    moved = update(AuditHead).where(AuditHead.id == HEAD_ID)
    await session.execute(moved.values(anchor_id=up_to, anchor_hash=anchor_hash))
    details = {"entries": up_to - anchor_id, "up_to": up_to, "hash": anchor_hash}
    record(session, NewEntry(SERVER, AuditAction.AUDIT_LOG_TRIMMED, AuditTarget.AUDIT_LOG, details=details))
    return up_to - anchor_id
