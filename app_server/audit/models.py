"""The tables of the audit log: the entries, which are never changed, and a single row that says where the log
begins and ends.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Connection, Index, String, Table, event
from sqlalchemy.orm import Mapped, mapped_column

from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome, AuditTarget
from app_server.core.database import Base, enum_column

NO_HASH = "0" * 64
"""The `previous_hash` of the first entry, which has no entry before it."""
HEAD_ID = 1


class AuditEntry(Base):
    """One row of the audit log: an action that was done or refused.

    `id`: 1, 2, 3 … without gaps, in the order of the commits. There are no foreign keys to users, so the
    entries stay when a user is deleted. `details` contains names and numbers, never a secret. `hash`: the
    SHA-256 of the other columns, one of which is the hash of the entry before.
    """

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("ix_audit_entries_actor_id", "actor_id", "id"),
        Index("ix_audit_entries_action", "action", "id"),
        Index("ix_audit_entries_target_id", "target_id", "id"),
        Index("ix_audit_entries_organisation_id", "organisation_id", "id"),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    happened_at: Mapped[datetime] = mapped_column(index=True)
    actor_id: Mapped[UUID | None]
    """The id of the user who acted. Null if the user is unknown, or if the server itself acted."""
    actor_name: Mapped[str | None] = mapped_column(String(200))
    """The user's name at the time of the action. Null if the user is unknown, or if the server itself acted.
    """
    organisation_id: Mapped[UUID | None]
    """The organisation whose administrators may read the entry. Null for entries of the server itself, and
    for entries that were written before Slipway had organisations. Administrators of the installation read
    all entries.
    """
    means: Mapped[ActorMeans] = mapped_column(enum_column(ActorMeans))
    credential_id: Mapped[UUID | None]
    """The id of the API key, browser session or sandbox that the actor used. Null if the actor used none."""
    address: Mapped[str | None] = mapped_column(String(64))
    """The network address from which the request came. Null if there was no request."""
    action: Mapped[AuditAction] = mapped_column(enum_column(AuditAction))
    target_kind: Mapped[AuditTarget | None] = mapped_column(enum_column(AuditTarget))
    target_id: Mapped[str | None] = mapped_column(String(300))
    outcome: Mapped[AuditOutcome] = mapped_column(enum_column(AuditOutcome))
    details: Mapped[dict[str, Any]]
    previous_hash: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))


class AuditHead(Base):
    """The single database row that stores where the audit log begins and ends. Every writer of an entry locks
    this row, so that entries are written one after the other.

    `anchor_id`, `anchor_hash`: the id and hash of the last entry that was deleted because of its age; the log
    begins after this entry. They are 0 and NO_HASH if no entry was deleted. `last_id`, `last_hash`: the id
    and hash of the newest entry.
    """

    __tablename__ = "audit_head"
    __table_args__ = (CheckConstraint(f"id = {HEAD_ID}", name="single"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    anchor_id: Mapped[int] = mapped_column(BigInteger)
    anchor_hash: Mapped[str] = mapped_column(String(64))
    last_id: Mapped[int] = mapped_column(BigInteger)
    last_hash: Mapped[str] = mapped_column(String(64))


FIRST_HEAD = {
    "id": HEAD_ID,
    "anchor_id": 0,
    "anchor_hash": NO_HASH,
    "last_id": 0,
    "last_hash": NO_HASH,
}


@event.listens_for(AuditHead.__table__, "after_create")
def _insert_head(table: Table, connection: Connection, **_: object) -> None:
    """Inserts the single row of AuditHead after SQLAlchemy has created its table. On a server, a migration
    creates the table and the row, and this function is not called.
    """
    connection.execute(table.insert().values(FIRST_HEAD))
