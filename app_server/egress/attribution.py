"""Finds the conversations that may have made a network request of a sandbox. These are all conversations that
worked in the sandbox at the time of the request.

The egress proxy knows only sandboxes, not conversations. `AttributionOf` is the interface through which it
gets the conversations of a sandbox.
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
    """A conversation that works in a sandbox. `since`: the time when the conversation began to work in the
    sandbox.
    """

    id: UUID
    title: str | None
    since: datetime


class OccupantInfo(BaseModel):
    """The id and the title of a conversation that worked in a sandbox, as the API returns them. title: null
    if the conversation has no title yet.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    title: str | None


Attribution = Mapping[UUID, Sequence[AttributedConversation]]
"""Maps the id of a sandbox to the conversations that work in the sandbox, oldest first. Sandboxes without
conversations are left out.
"""

AttributionOf = Callable[[AsyncSession, UUID, Collection[UUID]], Awaitable[Attribution]]
"""A function that gets a database session, the id of a user and the ids of sandboxes. It returns the user's
conversations in each of these sandboxes, without deleted conversations.
"""


def possible(attribution: Attribution, sandbox_id: UUID, moment: datetime) -> list[OccupantInfo]:
    """Returns the conversations of the sandbox that may have made a network request at the time `moment`.
    These are the conversations that began to work in the sandbox at this time or earlier. Returns an empty
    list if there are none.

    `attribution`: for each sandbox id, the conversations that work in this sandbox.
    """
    there = (each for each in attribution.get(sandbox_id, ()) if each.since <= moment)
    return [OccupantInfo.model_validate(each) for each in there]
