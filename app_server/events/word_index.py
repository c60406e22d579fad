"""A search index of the words in the events of conversations, for the search within one conversation. SQLite
uses FTS5. PostgreSQL uses a text search vector with a GIN index.

In the index, each word begins with a short form of the conversation's id. Therefore a search reads only the
entries of this conversation. In the index, words with the same beginning are neighbours, so a search for the
beginning of a word is fast. The index states which events contain a word, but not the place of the word in
the event.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Index,
    Integer,
    Select,
    SQLColumnExpression,
    Text,
    and_,
    bindparam,
    cast,
    column,
    delete,
    event,
    func,
    insert,
    select,
    table,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY, TSVECTOR
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from app_server.core.database import Base
from app_server.events.models import StoredEvent
from app_server.events.schemas import DurableFrame
from app_server.events.texts import is_prefix, text_of, words_of

_SQLITE: Final = "sqlite"
_KEY_CHARACTERS = 6
"""How many characters of a conversation's id are put in front of each word. If the ids of two conversations
begin with the same characters, the column `conversation_id` of EventWords distinguishes the conversations.
"""

_LONG_REPORT = 64 * 1024
"""A number of characters. If the texts of new events are longer than this together, their words are extracted
in a thread, so that the event loop is not blocked.
"""


class EventWords(Base):
    """The database row with the words of one event, for the search index. On PostgreSQL, each word begins
    with a short form of the conversation's id. `seq`: the position of the event in its log. `id`: increases
    with `seq` within a conversation.
    """

    __tablename__ = "event_words"
    __table_args__ = (Index(None, "conversation_id", "seq", unique=True),)

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, _SQLITE), primary_key=True, autoincrement=True
    )
    conversation_id: Mapped[UUID]
    seq: Mapped[int] = mapped_column(BigInteger)
    words: Mapped[str] = mapped_column(Text().with_variant(TSVECTOR, "postgresql"))


_FTS = """
CREATE VIRTUAL TABLE event_words_index
USING fts5(
    words, content='', tokenize='ascii', detail='none', columnsize=0, prefix='8 9 10 11 12 13 14'
)
"""
_ADDED = """
CREATE TRIGGER event_words_added AFTER INSERT ON event_words BEGIN
    INSERT INTO event_words_index(rowid, words)
    VALUES (new.id, replace(' ' || new.words, ' ', ' ' || substr(new.conversation_id, 1, 6)));
END
"""
_REMOVED = """
CREATE TRIGGER event_words_removed AFTER DELETE ON event_words BEGIN
    INSERT INTO event_words_index(event_words_index, rowid, words)
    VALUES ('delete', old.id, replace(' ' || old.words, ' ', ' ' || substr(old.conversation_id, 1, 6)));
END
"""
_GIN = "CREATE INDEX ix_event_words_words ON event_words USING gin (words)"
INDEX: Final[Mapping[str, tuple[str, ...]]] = {_SQLITE: (_FTS, _ADDED, _REMOVED), "postgresql": (_GIN,)}
"""The SQL statements that create the search index of the table EventWords, by the name of the database
system. The migration that creates this table contains the same statements.
"""

_INDEX = table("event_words_index", column("rowid", Integer))


def _make_searchable(_table: Any, connection: Connection, **_: Any) -> None:
    for statement in INDEX[connection.dialect.name]:
        connection.execute(text(statement))


event.listen(EventWords.__table__, "after_create", _make_searchable)


async def add(session: AsyncSession, conversation_id: UUID, frames: Sequence[DurableFrame]) -> None:
    """Adds the words of new events of a conversation to the search index. The events must be in the order of
    the log.
    """
    # A long report would keep the event loop from other requests.
    is_long = sum(len(frame.body) for frame in frames) > _LONG_REPORT
    found = await asyncio.to_thread(_words_of, frames) if is_long else _words_of(frames)
    rows: list[dict[str, Any]] = [
        {"conversation_id": conversation_id, "seq": seq, "words": words} for seq, words in found
    ]
    if not rows:
        return
    if session.get_bind().dialect.name == _SQLITE:
        await session.execute(insert(EventWords), [{**row, "words": " ".join(row["words"])} for row in rows])
        return
    vector = func.array_to_tsvector(bindparam("vector", type_=ARRAY(Text)))
    with_vector = insert(EventWords).values(words=vector)
    for row in rows:
        row["vector"] = [_key(conversation_id) + word for word in row.pop("words")]
    await session.execute(with_vector, rows)


def _words_of(frames: Sequence[DurableFrame]) -> list[tuple[int, list[str]]]:
    found = ((frame.seq, sorted(words_of(text_of(frame.event)))) for frame in frames)
    return [(seq, words) for seq, words in found if words]


async def delete_some(session: AsyncSession, conversation_id: UUID, limit: int | None = None) -> int:
    """Deletes up to `limit` events of the conversation from the search index, or all events if `limit` is
    None. Returns how many were deleted.
    """
    ids = select(EventWords.id).where(EventWords.conversation_id == conversation_id).limit(limit)
    done = (
        await session.scalars(delete(EventWords).where(EventWords.id.in_(ids)).returning(EventWords.id))
    ).all()
    return len(done)


def having(
    session: AsyncSession, query: Select[Any], conversation_id: UUID, words: Sequence[str]
) -> tuple[Select[Any], SQLColumnExpression[int]]:
    """Adds to an SQL query the condition that an event contains all of `words`. Returns two things: the new
    query, and the column by which its results must be sorted to be in the order of the log. The new query
    selects rows of the search index (EventWords). The caller can join them with the events (see `of_event`).

    `words`: the searched words, at least one, in lower case and without accents.
    """
    key = _key(conversation_id)
    if session.get_bind().dialect.name == _SQLITE:
        wanted = " AND ".join(f'"{key}{word}"{" *" if is_prefix(word) else ""}' for word in words)
        found = query.select_from(_INDEX).join(EventWords, EventWords.id == _INDEX.c.rowid)
        # The sign keeps SQLite from reading all rows of the conversation and asking the index for each.
        column_of_rows = EventWords.__table__.c.conversation_id
        conversation = UnaryExpression(column_of_rows, operator=custom_op("+"), type_=column_of_rows.type)
        matching = text("event_words_index MATCH :wanted").bindparams(wanted=wanted)
        return found.where(matching, conversation == conversation_id), _INDEX.c.rowid
    wanted = " & ".join(f"'{key}{word}'{':*' if is_prefix(word) else ''}" for word in words)
    matching_words = EventWords.words.bool_op("@@")(cast(wanted, TSQUERY))
    of_conversation = EventWords.conversation_id == conversation_id
    return query.select_from(EventWords).where(of_conversation, matching_words), EventWords.seq


def of_event() -> ColumnElement[bool]:
    """Returns the SQL condition that a row of the search index (EventWords) and a row of the event log
    (StoredEvent) belong to the same event.
    """
    return and_(StoredEvent.conversation_id == EventWords.conversation_id, StoredEvent.seq == EventWords.seq)


def sort_value_of(session: AsyncSession, conversation_id: UUID, seq: int) -> ColumnElement[int]:
    """Returns an SQL subquery for the value by which search results are sorted, for the event at the position
    `seq`. The next page of a search consists of the results after this value.

    The value is the id of the event's row in the search index on SQLite, and `seq` on PostgreSQL. Both
    increase in the order of the log.
    """
    is_sqlite = session.get_bind().dialect.name == _SQLITE
    sort_values = select(EventWords.id if is_sqlite else EventWords.seq)
    at = sort_values.where(EventWords.conversation_id == conversation_id, EventWords.seq == seq)
    return at.scalar_subquery()


def _key(conversation_id: UUID) -> str:
    return conversation_id.hex[:_KEY_CHARACTERS]
