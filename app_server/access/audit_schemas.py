"""Schemas of the audit log in the API."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from app_server.audit.actions import ActorMeans, AuditAction, AuditOutcome, AuditTarget
from app_server.core.database import Id, Timestamp


class AuditEntryInfo(BaseModel):
    """One entry of the audit log: an action that was done or refused.

    `id`: 1, 2, 3 … without gaps. `actor_id`, `actor_name`: the user who acted, with the user's name at that
    moment; null if the actor is unknown or is the server. `organisation_id`: the organisation whose
    administrators may read the entry; null for entries of the server, and for entries of older versions of
    Slipway, which had no organisations. `credential_id`: the id of the API key, the browser session or the
    sandbox that was used. `details`: further data about the action, such as names and numbers, but never a
    secret. `hash`: SHA-256 over the entry and the hash of the previous entry, 64 hex digits.
    """

    model_config = ConfigDict(from_attributes=True)

    id: int
    happened_at: Timestamp
    actor_id: Id | None
    actor_name: str | None
    organisation_id: Id | None
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
    """Yields each entry of the audit log as one line with a JSON object."""
    async for entry in entries:
        yield f"{entry.model_dump_json()}\n"


async def as_csv(entries: AsyncIterator[AuditEntryInfo]) -> AsyncIterator[str]:
    """Yields the entries of the audit log as CSV: a line with the column names, then one line for each entry.
    `details` is JSON. A text that a spreadsheet would read as a formula gets an apostrophe in front.
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
