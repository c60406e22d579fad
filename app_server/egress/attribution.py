"""Finds the conversations that may have made a network request of a sandbox: all conversations that worked in
the sandbox at that time.

The proxy knows only sandboxes. `AttributionOf` is the interface to the code that knows conversations.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Id


@dataclass(frozen=True)
class AttributedConversation:
    """A conversation that works in a sandbox. `since`: the time when it began to work there."""

    id: UUID
    title: str | None
    since: datetime


class OccupantInfo(BaseModel):
    """A conversation in the API. title: null until it has one."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    title: str | None


Attribution = Mapping[UUID, Sequence[AttributedConversation]]
"""The conversations of each sandbox, oldest first. A sandbox without conversations is not in it."""

AttributionOf = Callable[[AsyncSession, UUID, Collection[UUID]], Awaitable[Attribution]]
"""Returns the user's conversations in these sandboxes, without deleted ones."""


def possible(attribution: Attribution, sandbox_id: UUID, moment: datetime) -> list[OccupantInfo]:
    """Returns the conversations that were in the sandbox at `moment`."""
    there = (each for each in attribution.get(sandbox_id, ()) if each.since <= moment)
    return [OccupantInfo.model_validate(each) for each in there]
