"""The audit log on the wire."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome, AuditTarget
from app_server.core.database import Id, Timestamp


class AuditEntryInfo(BaseModel):
    """One thing that was done or refused. `id`: 1, 2, 3 … without gaps.

    `actor_id`, `actor_name`: the user, with the name of that moment; null: not known, or the server.
    `credential_id`: of the key, the session or the sandbox. `details`: names and numbers, never a secret.
    `hash`: SHA-256 over the entry and the hash of the one before, 64 hex digits.
    """

    model_config = ConfigDict(from_attributes=True)

    id: int
    happened_at: Timestamp
    actor_id: Id | None
    actor_name: str | None
    means: ActorMeans
    credential_id: Id | None
    address: str | None
    action: AuditAction
    target_kind: AuditTarget | None
    target_id: str | None
    outcome: AuditOutcome
    details: dict[str, Any]
    previous_hash: str
    hash: str


async def as_json_lines(entries: AsyncIterator[AuditEntryInfo]) -> AsyncIterator[str]:
    """One JSON object a line."""
    async for entry in entries:
        yield f"{entry.model_dump_json()}\n"


async def as_csv(entries: AsyncIterator[AuditEntryInfo]) -> AsyncIterator[str]:
    """A line of names, then one of values for each entry; `details` is JSON.

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    yield _line(list(AuditEntryInfo.model_fields))
    async for entry in entries:
        values = entry.model_dump(mode="json", exclude={"details"})
        details = entry.model_dump_json(include={"details"}).removeprefix('{"details":').removesuffix("}")
        values["details"] = details
        yield _line([_cell(values[name]) for name in AuditEntryInfo.model_fields])


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _line(cells: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()
