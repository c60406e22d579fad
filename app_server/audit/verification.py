"""Verifies that no entry of the audit log was changed, removed or inserted. For this purpose, computes the
hash of each entry again, compares it with the stored hash, and checks that each entry contains the hash of
the entry before it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.audit.actions import AuditAction
from app_server.audit.chain import hash_of
from app_server.audit.models import HEAD_ID, NO_HASH, AuditEntry, AuditHead

_BATCH = 1000


@dataclass(frozen=True)
class ChainMark:
    """The id and the hash of one entry of the audit log. An administrator can store both values outside this
    server, and later check that the entry has not been changed.
    """

    id: int
    hash: str


@dataclass(frozen=True)
class Verification:
    """The result of verifying the audit log. `anchor` and `head` say where the verified part of the log
    begins and ends.

    `entries`: the number of entries that were verified. `anchor`: the last entry before this part, which was
    deleted because of its age; its id is 0 if no entry was deleted. `head`: the newest entry, which an
    administrator should store outside this server. `problem`: the first fault that was found, as a sentence;
    None if there is no fault.
    """

    entries: int
    anchor: ChainMark
    head: ChainMark
    problem: str | None = None


async def verify(session: AsyncSession, known: ChainMark | None = None) -> Verification:
    """Verifies every entry of the audit log and returns the result. Reads all entries as they are at one
    moment; for this, `session` must be a new session that has read nothing yet.

    `known`: an entry that an administrator has noted outside this server. The function checks that it is
    still in the log and unchanged. So it also detects that an attacker has replaced all entries and computed
    new hashes. If `known` is None, this check is left out.
    """
    if session.get_bind().dialect.name == "postgresql":
        await session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    return await _Check(known).run(session)


class _Broken(Exception):
    """The error that is raised when the chain of hashes is faulty. Its text says what is wrong."""


@dataclass
class _Check:
    known: ChainMark | None
    count: int = 0
    newest_cut: dict[str, Any] = field(default_factory=dict)

    async def run(self, session: AsyncSession) -> Verification:
        row = await session.scalar(select(AuditHead).where(AuditHead.id == HEAD_ID))
        if row is None:
            nothing = ChainMark(0, "")
            return Verification(0, nothing, nothing, "The head of the chain is missing.")
        anchor, head = ChainMark(row.anchor_id, row.anchor_hash), ChainMark(row.last_id, row.last_hash)
        problem = None
        try:
            await self._require_whole(session, anchor, head)
        except _Broken as broken:
            problem = str(broken)
        except (LookupError, ValueError):  # a word, a date or JSON that this server would not have written
            problem = f"An entry after {anchor.id + self.count} cannot be read: it was changed."
        return Verification(self.count, anchor, head, problem)

    async def _require_whole(self, session: AsyncSession, anchor: ChainMark, head: ChainMark) -> None:
        last = anchor
        self._require_known(anchor)
        if self.known and self.known.id < anchor.id:
            raise _Broken(
                f"Entry {self.known.id} was removed because of its age. Name an entry that you noted later."
            )
        async for row in _rows(session, anchor.id):
            last = self._following(last, row)
            self._require_known(last)
            self.count += 1
            if row["action"] is AuditAction.AUDIT_LOG_TRIMMED:
                self.newest_cut = row["details"]
        if last != head:
            raise _Broken(f"The newest entries are missing: entry {head.id} should be the last one.")
        recorded_mark = ChainMark(self.newest_cut.get("up_to", 0), self.newest_cut.get("hash", NO_HASH))
        if anchor != recorded_mark:
            raise _Broken(f"The log begins after entry {anchor.id}, but no entry records this removal.")
        if self.known and self.known.id > head.id:
            raise _Broken(f"Entry {self.known.id}, which you named, is missing.")

    def _following(self, last: ChainMark, row: dict[str, Any]) -> ChainMark:
        if row["id"] != last.id + 1:
            raise _Broken(f"Entries are missing between {last.id} and {row['id']}.")
        if row["previous_hash"] != last.hash:
            raise _Broken(f"Entry {row['id']} does not follow the entry before it.")
        if row["hash"] != hash_of(row):
            raise _Broken(f"Entry {row['id']} was changed.")
        return ChainMark(row["id"], row["hash"])

    def _require_known(self, mark: ChainMark) -> None:
        if self.known and self.known.id == mark.id and self.known.hash != mark.hash:
            raise _Broken(f"Entry {mark.id} differs from the one that you named.")


async def _rows(session: AsyncSession, after: int) -> AsyncIterator[dict[str, Any]]:
    while True:
        query = select(AuditEntry.__table__).where(AuditEntry.id > after)
        query = query.order_by(AuditEntry.id).limit(_BATCH)
        found = (await session.execute(query)).mappings().all()
        for row in found:
            yield dict(row)
        if len(found) < _BATCH:
            return
        after = found[-1]["id"]
