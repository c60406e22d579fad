"""Reads windows of a conversation's event log. A window is a limited number of consecutive events, at the end
of the log or near a position.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import NotFound
from app_server.core.pubsub import Frame
from app_server.events import log
from app_server.events.models import StoredEvent
from app_server.events.schemas import durable_frame

MAX_EVENTS = 500
MAX_CHARACTERS = 192 * 1024
"""The maximum total size, in characters, of the events of a window. A window has at least one event, even if
this event is larger.
"""


@dataclass(frozen=True)
class Window:
    """Consecutive events of the event log of a conversation, from the position `first_seq` to the position
    `last_seq`. In an empty window, `first_seq` is after `last_seq`.

    `log_seq`: the position of the newest event of the log. `frames`: the events.
    """

    first_seq: int
    last_seq: int
    log_seq: int
    frames: list[Frame]


async def newest(session: AsyncSession, conversation_id: UUID, limit: int) -> Window:
    """Returns the window with at most `limit` events at the end of the conversation's event log."""
    return await before(session, conversation_id, None, limit)


async def before(session: AsyncSession, conversation_id: UUID, seq: int | None, limit: int) -> Window:
    """Returns the window with at most `limit` events directly before the position `seq` of the conversation's
    event log. `seq`: None means the end of the log.
    """
    log_seq = await log.last_seq(session, conversation_id)
    end = log_seq + 1 if seq is None else min(seq, log_seq + 1)
    query = _sizes(conversation_id).where(StoredEvent.seq < end).order_by(StoredEvent.seq.desc())
    fitting = _fitting(await session.scalars(query.limit(limit)))
    return await _read(session, conversation_id, end - fitting, end - 1, log_seq)


async def after(session: AsyncSession, conversation_id: UUID, seq: int, limit: int) -> Window:
    """Returns the window with at most `limit` events directly after the position `seq` of the conversation's
    event log.
    """
    log_seq = await log.last_seq(session, conversation_id)
    begin = min(seq, log_seq) + 1
    query = _sizes(conversation_id).where(StoredEvent.seq >= begin).order_by(StoredEvent.seq)
    fitting = _fitting(await session.scalars(query.limit(limit)))
    return await _read(session, conversation_id, begin, begin + fitting - 1, log_seq)


async def around(session: AsyncSession, conversation_id: UUID, event_id: str, limit: int) -> Window:
    """Returns a window with the event `event_id` and the events before and after it, at most `limit` events
    together. Raises NotFound `event_not_found` if the conversation has no such event.

    The window consists of two halves: the events up to this event, and the events after it. Each half has at
    most MAX_CHARACTERS; a half with only one event may be larger.
    """
    query = select(StoredEvent.seq).where(
        StoredEvent.conversation_id == conversation_id, StoredEvent.event_id == event_id
    )
    seq = await session.scalar(query)
    if seq is None:
        raise NotFound("The conversation has no such event.", code="event_not_found")
    through = await before(session, conversation_id, seq + 1, (limit + 1) // 2)
    if limit == 1:
        return through
    later = await after(session, conversation_id, seq, limit // 2)
    return Window(through.first_seq, later.last_seq, later.log_seq, [*through.frames, *later.frames])


async def read_at(session: AsyncSession, conversation_id: UUID, positions: Collection[int]) -> list[Frame]:
    """Returns the events at these positions of the conversation's event log, sorted by position. Ignores
    positions at which the log has no event.
    """
    query = (
        select(StoredEvent.seq, StoredEvent.body, StoredEvent.blobs)
        .where(StoredEvent.conversation_id == conversation_id, StoredEvent.seq.in_(positions))
        .order_by(StoredEvent.seq)
    )
    return [durable_frame(*row) for row in await session.execute(query)]


async def _read(
    session: AsyncSession, conversation_id: UUID, first_seq: int, last_seq: int, log_seq: int
) -> Window:
    frames = await log.read_frames(
        session, conversation_id, after_seq=first_seq - 1, through_seq=last_seq, limit=MAX_EVENTS
    )
    return Window(first_seq, last_seq, log_seq, frames)


def _sizes(conversation_id: UUID) -> Select[int]:
    return select(func.length(StoredEvent.body)).where(StoredEvent.conversation_id == conversation_id)


def _fitting(sizes: Iterable[int]) -> int:
    """Returns how many of the first events of a list fit into one window. Their total size is at most
    MAX_CHARACTERS. The first event always fits, even if it alone is larger. `sizes`: the size of each event
    in characters.
    """
    room, count = MAX_CHARACTERS, 0
    for size in sizes:
        room -= size
        if room < 0 and count:
            break
        count += 1
    return count
