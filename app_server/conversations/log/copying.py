"""Reads the events that a fork copies from the event log of the original conversation. A fork copies only the
events of the current branch, that is, without events that the user has undone by going back to an earlier
point. The copies are numbered without gaps.
"""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import orjson
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations.log.bulk_append import PER_TRANSACTION
from app_server.core.database import Database
from app_server.core.errors import NotFound
from app_server.events import log
from app_server.events.models import StoredEvent
from app_server.events.schemas import DurableFrame

_UPDATE = "ConversationStateUpdateEvent"
_LEAF = "leaf_event_id"
_COPIED_KEYS = ("confirmation_policy", "security_analyzer")
"""The keys of those state updates (events that set a part of the conversation's state) that a fork copies, so
that the fork asks its user for approval at least as often as the original does. Other state updates are not
copied: for example costs, statuses, sub-conversations, and the agent's settings, whose addresses contain the
original's access tokens.
"""
_PAGE = 500


async def copied_frames(
    database: Database, conversation_id: UUID, positions: Sequence[int]
) -> AsyncIterator[list[DurableFrame]]:
    """Reads the events at `positions` of the conversation's log, and yields copies of them in several lists.
    The copies get new positions for the log of the fork: 1, 2, 3 and so on.

    Each list is small enough for one call of `bulk_append.fill`, which writes the events into this log. No
    transaction is open while the caller uses a list.
    """
    seq = 0
    for begin in range(0, len(positions), PER_TRANSACTION):
        part = positions[begin : begin + PER_TRANSACTION]
        async with database.read() as session:
            bodies = await _bodies(session, conversation_id, part)
        yield [
            DurableFrame(type="durable", seq=seq + number, event=orjson.loads(body))
            for number, body in enumerate(bodies, start=1)
        ]
        seq += len(part)


async def positions_to_copy(
    session: AsyncSession, conversation_id: UUID, *, through_seq: int, from_event_id: str | None = None
) -> list[int]:
    """Returns the positions of the events that a fork of this conversation copies, in ascending order. These
    are the event `from_event_id` and all events before it on its branch: its parent, the parent of its
    parent, and so on up to the first event.

    The newest event that sets the confirmation policy and the newest event that sets the security analyzer
    are copied, too.

    `through_seq`: events after this position are not copied. `from_event_id`: None means the newest event
    that the user has not undone by going back to an earlier point. Raises NotFound `event_not_found` if there
    is no event with the id `from_event_id`.
    """
    seqs_and_parents: dict[str, tuple[int, str | None]] = {}
    safeguards: dict[str, int] = {}
    leaf: str | None = None
    after = 0
    while rows := await _page(session, conversation_id, after, through_seq):
        for seq, event_id, kind, body in rows:
            event = orjson.loads(body)
            if kind != _UPDATE:
                seqs_and_parents[event_id], leaf = (seq, event.get("parent_id")), event_id
            elif event["key"] == _LEAF:
                leaf = event["value"]
            elif event["key"] in _COPIED_KEYS:
                safeguards[event["key"]] = seq
        after = rows[-1][0]
    if from_event_id is not None and from_event_id not in seqs_and_parents:
        raise NotFound("The conversation has no such event.", code="event_not_found")
    branch: list[int] = []
    step = from_event_id or leaf
    while step is not None and step in seqs_and_parents:
        # Each event is removed when it is visited, so that events that name each other do not make an endless
        # branch.
        seq, step = seqs_and_parents.pop(step)
        branch.append(seq)
    return sorted([*branch, *safeguards.values()])


async def _page(
    session: AsyncSession, conversation_id: UUID, after_seq: int, through_seq: int
) -> Sequence[tuple[int, str, str, str]]:
    query = (
        select(StoredEvent.seq, StoredEvent.event_id, StoredEvent.kind, StoredEvent.body)
        .where(
            StoredEvent.conversation_id == conversation_id,
            StoredEvent.seq > after_seq,
            StoredEvent.seq <= through_seq,
        )
        .order_by(StoredEvent.seq)
        .limit(_PAGE)
    )
    return (await session.execute(query)).all()


async def _bodies(session: AsyncSession, conversation_id: UUID, positions: Sequence[int]) -> list[str]:
    """Returns the complete events at these positions of the conversation's log, as JSON texts. Large parts of
    an event are stored outside of the log; the texts contain these parts, too. `positions`: in ascending
    order, at least one.
    """
    wanted, found = set(positions), []
    first = positions[0]
    while first <= positions[-1]:
        page = await log.read_bodies(
            session, conversation_id, from_seq=first, through_seq=positions[-1], limit=PER_TRANSACTION
        )
        found += [body for seq, body in enumerate(page, start=first) if seq in wanted]
        first += PER_TRANSACTION
    return found
