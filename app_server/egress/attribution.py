"""Which conversations may have made a request of their sandbox: all that worked there at that time.

The way out knows sandboxes alone; `OccupantsOf` asks those who know conversations.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Id


@dataclass(frozen=True)
class Occupant:
    """A conversation that works in a sandbox, since when."""

    id: UUID
    title: str | None
    since: datetime


class OccupantInfo(BaseModel):
    """title: null until it has one."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    title: str | None


Occupants = Mapping[UUID, Sequence[Occupant]]
"""By sandbox, the oldest first; nothing of a sandbox without any."""

OccupantsOf = Callable[[AsyncSession, UUID, Collection[UUID]], Awaitable[Occupants]]
"""The user's conversations in these sandboxes, without deleted ones."""


def possible(occupants: Occupants, sandbox_id: UUID, moment: datetime) -> list[OccupantInfo]:
    """Those that were there at that moment."""
    there = (each for each in occupants.get(sandbox_id, ()) if each.since <= moment)
    return [OccupantInfo.model_validate(each) for each in there]
