"""Searches for words in the events of one conversation. Callers must check beforehand that the user may read
the conversation.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import orjson
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.events import blobs, log, word_index
from app_server.events.log import EventFilter, EventSortOrder
from app_server.events.models import StoredEvent
from app_server.events.texts import passage, text_of, wanted_words


async def search(
    session: AsyncSession,
    conversation_id: UUID,
    query: str,
    criteria: EventFilter,
    *,
    order: EventSortOrder,
    page_id: str | None,
    limit: int,
    full: bool = False,
) -> str:
    """Returns one page of the conversation's events that contain all words of the query and meet the
    criteria. The result is a JSON text with the events, the passages around the searched words, and the id of
    the next page. The page is empty if the query contains no word.

    The events are sorted by their position in the log, not by their timestamp. `order`: TIMESTAMP means
    oldest first, TIMESTAMP_DESC newest first. `page_id`: the id of the page; None for the first page. `full`:
    whether the events contain their large parts instead of references to them.
    """
    wanted = wanted_words(query)
    at = None if page_id is None else log.page_position(page_id)
    if not wanted:
        return '{"items":[],"next_page_id":null,"matches":[]}'
    columns = select(StoredEvent.seq, StoredEvent.event_id, StoredEvent.body, StoredEvent.blobs)
    found, sort_value = word_index.having(session, columns, conversation_id, wanted)
    found = found.join(StoredEvent, word_index.of_event()).where(*log.conditions(criteria))
    ascending = order is EventSortOrder.TIMESTAMP
    if at is not None:
        last = word_index.sort_value_of(session, conversation_id, at)
        found = found.where(sort_value > last if ascending else sort_value < last)
    found = found.order_by(sort_value.asc() if ascending else sort_value.desc()).limit(limit + 1)
    rows = (await session.execute(found)).all()
    shown = [(body, references if full else None) for *_, body, references in rows[:limit]]
    number = blobs.fitting(shown)
    items = await blobs.complete_events(session, conversation_id, shown[:number])
    following = log.next_page([seq for seq, *_ in rows], number)
    matched_events = [(seq, event_id, body) for seq, event_id, body, _ in rows[:number]]
    matches = await asyncio.to_thread(_matches, matched_events, wanted)
    return f'{{"items":[{",".join(items)}],"next_page_id":{following},"matches":{matches}}}'


async def count(session: AsyncSession, conversation_id: UUID, query: str, criteria: EventFilter) -> int:
    """Returns how many events of the conversation contain all words of the query and meet the criteria.
    Returns 0 if the query contains no word.
    """
    wanted = wanted_words(query)
    if not wanted:
        return 0
    found, _ = word_index.having(session, select(func.count()), conversation_id, wanted)
    conditions = log.conditions(criteria)
    if conditions:
        found = found.join(StoredEvent, word_index.of_event()).where(*conditions)
    return await session.scalar(found) or 0


def _matches(rows: Sequence[tuple[int, str, str]], wanted: Sequence[str]) -> str:
    found = [
        {"event_id": event_id, "seq": seq, "passage": passage(text_of(orjson.loads(body)), wanted)}
        for seq, event_id, body in rows
    ]
    return orjson.dumps(found).decode()
