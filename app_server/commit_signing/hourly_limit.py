"""Limits how many commits and tags the app server signs for one sandbox within an hour. The counts are stored
in the database, so that all app servers use the same counts.
"""

import math
from datetime import timedelta
from uuid import UUID

from sqlalchemy import case
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.commit_signing.models import CommitSignatureCount
from app_server.core.database import now
from app_server.core.errors import TooManyRequests

MAX_PER_HOUR = 1000
"""The maximum number of signatures for one sandbox in an hour. The number is limited because each signature
adds an entry to the audit log.
"""
_HOUR = timedelta(hours=1)


async def count_signature(session: AsyncSession, sandbox_id: UUID) -> None:
    """Counts one more signature for this sandbox. Raises TooManyRequests `too_many_signatures`, with a
    `Retry-After` header, if this is more than the 1000 signatures that are allowed in one hour.

    The hour begins with the first signature of the sandbox. The first signature after its end begins a new
    hour. The sandbox's row stays locked until the transaction ends, so concurrent signatures are counted one
    after the other.
    """
    moment = now()
    stored = CommitSignatureCount
    is_over = stored.began_at <= moment - _HOUR
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(stored).values(sandbox_id=sandbox_id, began_at=moment, signatures=1)
    counted = row.on_conflict_do_update(
        index_elements=["sandbox_id"],
        set_={
            "began_at": case((is_over, moment), else_=stored.began_at),
            "signatures": case((is_over, 1), else_=stored.signatures + 1),
        },
    ).returning(stored.began_at, stored.signatures)
    began_at, signatures = (await session.execute(counted)).one()
    if signatures > MAX_PER_HOUR:
        seconds = max(1, math.ceil((began_at + _HOUR - moment).total_seconds()))
        raise TooManyRequests(
            f"More than {MAX_PER_HOUR} commits in an hour.",
            code="too_many_signatures",
            fix=f"Wait {math.ceil(seconds / 60)} minutes, or commit with --no-gpg-sign.",
            headers={"Retry-After": str(seconds)},
        )
