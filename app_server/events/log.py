"""Stores and reads the event logs of conversations in SQL. Each event is appended once and never changed.
Callers must check beforehand that the user may read the conversation.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVarTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, delete, func, insert, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app_server.core.errors import BadRequest, Conflict, PayloadTooLarge
from app_server.core.pagination import decode_page_id, encode_page_id
from app_server.core.pubsub import Frame
from app_server.events import blobs, word_index
from app_server.events.blobs import StoredForm
from app_server.events.models import StoredEvent
from app_server.events.schemas import DurableFrame, durable_frame

Columns = TypeVarTuple("Columns")


class EventSortOrder(StrEnum):
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_DESC = "TIMESTAMP_DESC"


@dataclass(frozen=True)
class Appended:
    """The result of appending events to the event log of a conversation. `acknowledged_seq`: the position of
    the newest event in the log. `new`: the frames (messages of the sandbox, each with one event) whose events
    were not in the log before.
    """

    acknowledged_seq: int
    new: list[DurableFrame]


@dataclass(frozen=True)
class EventFilter:
    kind: str | None = None
    timestamp_from: datetime | None = None
    timestamp_before: datetime | None = None


async def append(session: AsyncSession, conversation_id: UUID, frames: Sequence[DurableFrame]) -> Appended:
    """Appends events to the conversation's log. Skips events that are already in the log, because a sandbox
    may send the same events again.

    `frames`: the events with their positions (seq), sorted by seq. The caller must hold the lock of the
    conversation's row, so that only one caller appends at a time.

    Raises Conflict `seq_gap` if an event is missing between the end of the log and the first frame, or
    between two frames. Raises Conflict `seq_conflict` if another event is stored with the seq of a frame, or
    if the event of a frame is stored with another seq. Both errors contain `acknowledged_seq`, the position
    of the newest event in the log.
    """
    last = await last_seq(session, conversation_id)
    known = await _known(session, conversation_id, frames)
    new: list[DurableFrame] = []
    for frame in frames:
        reached = last + len(new)
        if frame.seq > reached + 1:
            raise Conflict(
                f"Position {frame.seq} does not follow {reached}.", code="seq_gap", acknowledged_seq=last
            )
        if known.get(frame.envelope.id, frame.seq) != frame.seq:
            raise _seq_conflict(frame, last)
        if frame.seq == reached + 1:
            new.append(frame)
            known[frame.envelope.id] = frame.seq
        elif frame.envelope.id not in known:
            raise _seq_conflict(frame, last)
    if new:
        stored = [frame.keep(conversation_id) for frame in new]
        rows = [_row(conversation_id, *pair) for pair in zip(new, stored, strict=True)]
        await session.execute(insert(StoredEvent), rows)
        await blobs.add(session, conversation_id, (blob for one in stored for blob in one.blobs))
        await word_index.add(session, conversation_id, new)
    return Appended(last + len(new), new)


async def last_seq(session: AsyncSession, conversation_id: UUID) -> int:
    """Returns the position of the newest event in the conversation's log. Positions begin at 1. Returns 0 if
    the log is empty.
    """
    query = select(func.max(StoredEvent.seq)).where(StoredEvent.conversation_id == conversation_id)
    return await session.scalar(query) or 0


async def read_frames(
    session: AsyncSession, conversation_id: UUID, *, after_seq: int, through_seq: int, limit: int
) -> list[Frame]:
    """Returns up to `limit` events of the conversation's log as frames (messages of the live stream). These
    are the events after the position `after_seq`, up to and including the position `through_seq`. The events
    contain references in place of large parts (see blobs.py).
    """
    query = (
        select(StoredEvent.seq, StoredEvent.body, StoredEvent.blobs)
        .where(
            StoredEvent.conversation_id == conversation_id,
            StoredEvent.seq > after_seq,
            StoredEvent.seq <= through_seq,
        )
        .order_by(StoredEvent.seq)
        .limit(limit)
    )
    return [durable_frame(*row) for row in await session.execute(query)]


async def read_body(session: AsyncSession, conversation_id: UUID, seq: int) -> str | None:
    """Returns the event at this position of the conversation's log as JSON text, exactly as the sandbox
    reported it. Returns None if there is no event at this position.
    """
    bodies = await read_bodies(session, conversation_id, from_seq=seq, through_seq=seq, limit=1)
    return bodies[0] if bodies else None


async def read_bodies(
    session: AsyncSession, conversation_id: UUID, *, from_seq: int, through_seq: int = 2**53, limit: int
) -> list[str]:
    """Returns up to `limit` events of the conversation's log as JSON texts, exactly as the sandbox reported
    them. These are the events from the position `from_seq` up to and including the position `through_seq`.
    """
    query = (
        select(StoredEvent.body, StoredEvent.blobs)
        .where(
            StoredEvent.conversation_id == conversation_id,
            StoredEvent.seq >= from_seq,
            StoredEvent.seq <= through_seq,
        )
        .order_by(StoredEvent.seq)
        .limit(limit)
    )
    rows = [(body, references) for body, references in await session.execute(query)]
    return await blobs.complete_events(session, conversation_id, rows)


async def search(
    session: AsyncSession,
    conversation_id: UUID,
    criteria: EventFilter,
    *,
    order: EventSortOrder,
    page_id: str | None,
    limit: int,
    full: bool = False,
) -> str:
    """Returns one page of the conversation's events that meet the criteria, as JSON text.

    `order`: TIMESTAMP means oldest first, TIMESTAMP_DESC newest first. `page_id`: the id of the page; None
    for the first page. `full`: whether the events contain their large parts instead of references to them. A
    page with `full` has fewer than `limit` events if their total size is too large (see blobs.fitting).

    The events are sorted by timestamp if the criteria contain an earliest or latest time, and else by their
    position in the log. The database has an index for each of these two orders. The two orders differ only if
    a sandbox reports timestamps that do not increase.
    """
    query = _filtered(select(StoredEvent.seq, StoredEvent.body, StoredEvent.blobs), conversation_id, criteria)
    ascending = order is EventSortOrder.TIMESTAMP
    at = None if page_id is None else page_position(page_id)
    columns: list[InstrumentedAttribute[Any]]
    if criteria.timestamp_from is None and criteria.timestamp_before is None:
        columns = [StoredEvent.seq]
        if at is not None:
            query = query.where(StoredEvent.seq > at if ascending else StoredEvent.seq < at)
    else:
        columns = [StoredEvent.timestamp, StoredEvent.seq]
        if at is not None:
            query = query.where(_beyond(conversation_id, at, ascending=ascending))
    query = query.order_by(*(each.asc() if ascending else each.desc() for each in columns)).limit(limit + 1)
    rows = (await session.execute(query)).all()
    shown = [(body, references if full else None) for _, body, references in rows[:limit]]
    number = blobs.fitting(shown)
    items = ",".join(await blobs.complete_events(session, conversation_id, shown[:number]))
    following = next_page([seq for seq, *_ in rows], number)
    return f'{{"items":[{items}],"next_page_id":{following}}}'


async def count(session: AsyncSession, conversation_id: UUID, criteria: EventFilter) -> int:
    query = _filtered(select(func.count()).select_from(StoredEvent), conversation_id, criteria)
    return await session.scalar(query) or 0


async def batch(
    session: AsyncSession, conversation_id: UUID, event_ids: Sequence[str], *, full: bool = False
) -> str:
    """Returns the events with these ids as a JSON array, in the order of the ids. The array has null for an
    id without an event. `full`: whether the events contain their large parts instead of references to them.

    Raises PayloadTooLarge `events_too_large` if the events are too large together.
    """
    query = select(StoredEvent.event_id, StoredEvent.body, StoredEvent.blobs).where(
        StoredEvent.conversation_id == conversation_id, StoredEvent.event_id.in_(event_ids)
    )
    rows = (await session.execute(query)).all()
    shown = [(body, references if full else None) for _, body, references in rows]
    if blobs.fitting(shown) < len(shown):
        raise PayloadTooLarge(
            "These events are too large for one reply.",
            code="events_too_large",
            fix="Ask for fewer ids, or with full=false.",
        )
    full_bodies = await blobs.complete_events(session, conversation_id, shown)
    bodies = {event_id: body for (event_id, *_), body in zip(rows, full_bodies, strict=True)}
    return f"[{','.join(bodies.get(event_id, 'null') for event_id in event_ids)}]"


async def find(session: AsyncSession, conversation_id: UUID, event_id: str) -> dict[str, Any] | None:
    """Returns the event with this id, exactly as the sandbox reported it. Returns None if the conversation
    has no such event.
    """
    [event] = json.loads(await batch(session, conversation_id, [event_id], full=True))
    found: dict[str, Any] | None = event
    return found


async def delete_log(session: AsyncSession, conversation_id: UUID) -> None:
    """Deletes all events of the conversation, with their search index entries and large parts. If the log is
    long, callers should first delete them in steps with the functions `delete_some` of word_index.py, of this
    module and of blobs.py, in this order.
    """
    await word_index.delete_some(session, conversation_id)
    await session.execute(delete(StoredEvent).where(StoredEvent.conversation_id == conversation_id))
    await blobs.delete_all(session, conversation_id)


async def delete_some(session: AsyncSession, conversation_id: UUID, limit: int) -> int:
    """Deletes up to `limit` events of the conversation, oldest first. Returns how many were deleted. The
    newest event is deleted last, so that `last_seq` stays the same as long as there are events.
    """
    of_conversation = StoredEvent.conversation_id == conversation_id
    seqs = select(StoredEvent.seq).where(of_conversation).order_by(StoredEvent.seq).limit(limit)
    done = await session.scalars(
        delete(StoredEvent).where(of_conversation, StoredEvent.seq.in_(seqs)).returning(StoredEvent.seq)
    )
    return len(done.all())


async def _known(
    session: AsyncSession, conversation_id: UUID, frames: Sequence[DurableFrame]
) -> dict[str, int]:
    """Returns the positions of stored events, by event id. The function `append` uses them to find out which
    events in `frames` are already stored, and which contradict stored events.

    These are the stored events with the same id as an event in `frames`, and those at the positions from the
    first to the last of `frames`. `frames`: the messages of a sandbox, each with one event.
    """
    if not frames:
        return {}
    seqs = [frame.seq for frame in frames]
    query = select(StoredEvent.event_id, StoredEvent.seq).where(
        StoredEvent.conversation_id == conversation_id,
        or_(
            and_(StoredEvent.seq >= min(seqs), StoredEvent.seq <= max(seqs)),
            StoredEvent.event_id.in_([frame.envelope.id for frame in frames]),
        ),
    )
    return dict((await session.execute(query)).all())


def _seq_conflict(frame: DurableFrame, last: int) -> Conflict:
    return Conflict(
        f"Position {frame.seq} or its event id is already taken by another event.",
        code="seq_conflict",
        acknowledged_seq=last,
    )


def _row(conversation_id: UUID, frame: DurableFrame, stored: StoredForm) -> dict[str, Any]:
    envelope = frame.envelope
    return {
        "conversation_id": conversation_id,
        "seq": frame.seq,
        "event_id": envelope.id,
        "kind": envelope.kind,
        "source": envelope.source,
        "timestamp": envelope.timestamp,
        "body": stored.body,
        "blobs": stored.references or None,
    }


def _filtered(query: Select[*Columns], conversation_id: UUID, criteria: EventFilter) -> Select[*Columns]:
    return query.where(StoredEvent.conversation_id == conversation_id, *conditions(criteria))


def conditions(criteria: EventFilter) -> list[ColumnElement[bool]]:
    """Returns the SQL conditions that an event must meet to be selected by `criteria`."""
    found: list[ColumnElement[bool]] = []
    if criteria.kind is not None:
        found.append(StoredEvent.kind == criteria.kind)
    if criteria.timestamp_from is not None:
        found.append(StoredEvent.timestamp >= criteria.timestamp_from)
    if criteria.timestamp_before is not None:
        found.append(StoredEvent.timestamp < criteria.timestamp_before)
    return found


def _beyond(conversation_id: UUID, at: int, *, ascending: bool) -> ColumnElement[bool]:
    """Returns the SQL condition for the events that follow a given event, if the events are sorted by
    timestamp. Events with equal timestamps are sorted by their position in the log. A search uses this
    condition to continue after the last event of a page.

    `at`: the position of the given event in the log. `ascending`: True if the oldest event comes first, False
    if the newest event comes first.
    """
    moment = select(StoredEvent.timestamp).where(
        StoredEvent.conversation_id == conversation_id, StoredEvent.seq == at
    )
    columns = tuple_(StoredEvent.timestamp, StoredEvent.seq)
    known = tuple_(moment.scalar_subquery(), at)
    return columns > known if ascending else columns < known


def next_page(seqs: Sequence[int], number: int) -> str:
    """Returns the id of the next page of events as JSON text. Returns the text `null` if there is no next
    page.

    `seqs`: the positions of the events that the query has found. `number`: how many of these events, counted
    from the first, are on this page. If the query has found more events, there is a next page.
    """
    return f'"{encode_page_id("events", str(seqs[number - 1]))}"' if len(seqs) > number else "null"


def page_position(page_id: str) -> int:
    """Returns the position in the log that a page id contains: the position of the last event on the previous
    page. Raises BadRequest `bad_page_id` if the page id is not valid.
    """
    name, position = decode_page_id(page_id, 2)
    if name != "events" or not position.isascii() or not position.isdecimal() or len(position) > 16:
        raise BadRequest("page_id is not one that this route gave out.", code="bad_page_id")
    return int(position)
