"""Adds entries to the audit log. Each entry contains the hash of the entry before it.

An entry is written in the same transaction as the change that it records, so either both are stored or
neither is stored. The entries are held in memory until this transaction is about to commit. All writers lock
the row AuditHead, which contains the hash of the newest entry. A transaction locks this row last, and only
during the commit, so that writers do not wait long.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, column, event, insert, select, table, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session as SyncSession
from sqlalchemy.orm import SessionTransaction

from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome, AuditTarget
from app_server.audit.models import HEAD_ID, AuditEntry, AuditHead
from app_server.core.database import now

MAX_TEXT = 300
"""The maximum number of characters of `target_id`, and of each text in `details`. A longer text is cut."""

_PENDING = "slipway.audit"
_HASHED = (
    "id",
    "happened_at",
    "actor_id",
    "actor_name",
    "means",
    "credential_id",
    "address",
    "action",
    "target_kind",
    "target_id",
    "outcome",
    "details",
    "previous_hash",
)
_HASHED_IF_SET = ("organisation_id",)
"""Columns that are included in the hash of an entry only if they are not null. Older entries do not have
these columns, so their hashes stay valid.
"""
_USERS = table("users", column("id", Uuid()), column("organisation_id", Uuid()))
"""The columns of the table `users` that this module reads. The table is described here again, because this
module may not import the module that defines it.
"""


@dataclass(frozen=True)
class Actor:
    """The user or system that does an action. `means`: how the actor was authenticated. `user_id`, `name`:
    None if the user is unknown, or if the server itself acts. `credential_id`: the id of the API key, browser
    session or sandbox that was used; None if none was used. `address`: the network address from which the
    request came; None if there was no request.
    """

    means: ActorMeans
    user_id: UUID | None = None
    name: str | None = None
    credential_id: UUID | None = None
    address: str | None = None


SERVER = Actor(ActorMeans.SERVER)


@dataclass(frozen=True)
class NewEntry:
    """An entry that will be written to the audit log when the transaction commits. `details` contains names
    and numbers, never a secret.
    """

    actor: Actor
    action: AuditAction
    target_kind: AuditTarget | None = None
    target_id: str | None = None
    outcome: AuditOutcome = AuditOutcome.SUCCESS
    details: Mapping[str, Any] = field(default_factory=dict)
    organisation_id: UUID | None = None
    """The organisation whose administrators may read the entry. None means the actor's organisation."""


def record(session: AsyncSession, entry: NewEntry) -> None:
    """Adds the entry to the audit log. The entry is written when the session commits. If the session rolls
    back, the entry is dropped.

    Callers must not use this function within a savepoint, because the rollback of a savepoint does not drop
    the entry.
    """
    session.info.setdefault(_PENDING, []).append(entry)


def hash_of(row: Mapping[str, Any]) -> str:
    """Returns the hash of an entry of the audit log: the SHA-256 of its columns as canonical JSON, as 64 hex
    digits. `row`: the values by column name.
    """
    names = [*_HASHED, *(name for name in _HASHED_IF_SET if row[name] is not None)]
    values = {name: _canonical(row[name]) for name in names}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@event.listens_for(SyncSession, "before_commit")
def _write(session: SyncSession) -> None:
    if session.in_nested_transaction() or not (pending := session.info.pop(_PENDING, None)):
        return
    session.flush()  # locks all other rows of the transaction before the head
    organisations = _organisations_of(session, pending)
    head = select(AuditHead.last_id, AuditHead.last_hash).where(AuditHead.id == HEAD_ID)
    last_id, last_hash = session.execute(head.with_for_update()).one()
    rows = []
    for entry in pending:
        last_id += 1
        of_actor = organisations.get(entry.actor.user_id)
        row = _row(
            entry, last_id, last_hash, of_actor if entry.organisation_id is None else entry.organisation_id
        )
        last_hash = row["hash"]
        rows.append(row)
    session.execute(insert(AuditEntry), rows)
    moved = update(AuditHead).where(AuditHead.id == HEAD_ID).values(last_id=last_id, last_hash=last_hash)
    session.execute(moved.execution_options(synchronize_session=False))


@event.listens_for(SyncSession, "after_soft_rollback")
def _forget(session: SyncSession, ended: SessionTransaction) -> None:
    if not ended.nested:
        session.info.pop(_PENDING, None)


def _organisations_of(session: SyncSession, entries: Sequence[NewEntry]) -> Mapping[UUID | None, UUID]:
    """Returns the organisation id of each user who did an action in `entries`. The keys are the ids of the
    users. Ignores entries without a user.
    """
    ids = {entry.actor.user_id for entry in entries if entry.actor.user_id is not None}
    if not ids:
        return {}
    rows = session.execute(select(_USERS.c.id, _USERS.c.organisation_id).where(_USERS.c.id.in_(ids)))
    return {row.id: row.organisation_id for row in rows}


def _row(entry: NewEntry, id_: int, previous_hash: str, organisation_id: UUID | None) -> dict[str, Any]:
    actor = entry.actor
    row: dict[str, Any] = {
        "id": id_,
        "happened_at": now(),
        "actor_id": actor.user_id,
        "actor_name": actor.name,
        "organisation_id": organisation_id,
        "means": actor.means,
        "credential_id": actor.credential_id,
        "address": actor.address,
        "action": entry.action,
        "target_kind": entry.target_kind,
        "target_id": entry.target_id and entry.target_id[:MAX_TEXT],
        "outcome": entry.outcome,
        "details": {name: _bounded(value) for name, value in entry.details.items() if value is not None},
        "previous_hash": previous_hash,
    }
    return {**row, "hash": hash_of(row)}


def _bounded(value: Any) -> Any:
    """Converts a value of the column `details` to a form that can be stored as JSON, and returns it. Shortens
    texts to MAX_TEXT characters, and lists, sets and dicts to 100 items.
    """
    if isinstance(value, str):
        return str(value)[:MAX_TEXT]
    if isinstance(value, Mapping):
        return {str(name): _bounded(each) for name, each in list(value.items())[:100]}
    if isinstance(value, list | tuple | set | frozenset):
        each = sorted(value) if isinstance(value, set | frozenset) else list(value)
        return [_bounded(one) for one in each[:100]]
    if isinstance(value, UUID):
        return value.hex
    return value.isoformat() if isinstance(value, datetime) else value


def _canonical(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value.hex if isinstance(value, UUID) else value
