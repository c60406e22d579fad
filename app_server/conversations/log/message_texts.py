"""Stores the texts of messages in a search index, for the search over all conversations. SQLite uses FTS5.
PostgreSQL uses its full-text search.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Connection,
    ForeignKey,
    Integer,
    Select,
    Text,
    event,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base
from app_server.events.schemas import DurableFrame
from app_server.events.texts import MAX_MESSAGE_CHARACTERS, content_texts

MAX_WORDS = 10
_WORD = re.compile(r"\w+")
SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"


class MessageText(Base):
    """One row of the search index: the text of one message that the user or the agent has written."""

    __tablename__ = "message_texts"

    id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, SQLITE), primary_key=True, autoincrement=True
    )
    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), index=True
    )
    text: Mapped[str] = mapped_column(Text)


_WORDS = """
CREATE VIRTUAL TABLE message_texts_words
USING fts5(text, content='message_texts', content_rowid='id', tokenize='unicode61', prefix='2 3 4')
"""
_ADDED = """
CREATE TRIGGER message_texts_added AFTER INSERT ON message_texts BEGIN
    INSERT INTO message_texts_words(rowid, text) VALUES (new.id, new.text);
END
"""
_REMOVED = """
CREATE TRIGGER message_texts_removed AFTER DELETE ON message_texts BEGIN
    INSERT INTO message_texts_words(message_texts_words, rowid, text) VALUES ('delete', old.id, old.text);
END
"""
# Without punctuation: the parser of PostgreSQL would keep a file name or an address in one piece.
_GIN = r"""
CREATE INDEX ix_message_texts_words ON message_texts
USING gin (to_tsvector('simple', regexp_replace(text, '[!-/:-@\[-^`{-~]+', ' ', 'g')))
"""
INDEX: Final[Mapping[str, tuple[str, ...]]] = {SQLITE: (_WORDS, _ADDED, _REMOVED), POSTGRESQL: (_GIN,)}
"""The SQL statements that create the search index for the table of MessageText, for each SQL dialect. The
migration that creates the table contains the same statements.
"""


def _make_searchable(_table: Any, connection: Connection, **_: Any) -> None:
    for statement in INDEX[connection.dialect.name]:
        connection.execute(text(statement))


event.listen(MessageText.__table__, "after_create", _make_searchable)


async def add(session: AsyncSession, conversation_id: UUID, frames: Sequence[DurableFrame]) -> None:
    """Adds the texts of the messages in `frames`, the new events of the conversation, to the search index."""
    found = [text_of(frame.event) for frame in frames]
    rows = [{"conversation_id": conversation_id, "text": each} for each in found if each]
    if rows:
        await session.execute(insert(MessageText), rows)


def text_of(event_: Mapping[str, Any]) -> str | None:
    """Returns the text of a message that the user or the agent has written. Returns None if the event is not
    such a message, or if the message has no text.
    """
    match event_:
        case {"kind": "MessageEvent", "source": "user" | "agent", "llm_message": {"content": content}}:
            parts = content_texts(content)
        case {"kind": "ActionEvent", "action": {"kind": "FinishAction", "message": str(message)}}:
            parts = [message]
        case _:
            return None
    said = "\n".join(parts)[:MAX_MESSAGE_CHARACTERS]
    # PostgreSQL takes no null characters.
    return said.replace("\x00", " ").strip() or None


def with_words(query: str, dialect: str) -> Select[UUID] | None:
    """Returns the SQL query for the ids of conversations that have a message with all words of `query`. A
    word of `query` also matches longer words that begin with it, unless the word is a single letter. Returns
    None if `query` contains no word.

    dialect: the database for which the query is written: `sqlite` or `postgresql`.
    """
    words = _WORD.findall(query)[:MAX_WORDS]
    if not words:
        return None
    ids = select(MessageText.conversation_id)
    if dialect == SQLITE:
        wanted = " AND ".join(f'"{word}"{"" if len(word) == 1 else " *"}' for word in words)
        rows = text("SELECT rowid FROM message_texts_words WHERE message_texts_words MATCH :wanted")
        return ids.where(MessageText.id.in_(rows.bindparams(wanted=wanted).columns(id=Integer)))
    wanted = " & ".join(word if len(word) == 1 else f"{word}:*" for word in words)
    plain = func.regexp_replace(MessageText.text, text(r"'[!-/:-@\[-^`{-~]+'"), text("' '"), text("'g'"))
    vector = func.to_tsvector(text("'simple'"), plain)
    return ids.where(vector.bool_op("@@")(func.to_tsquery(text("'simple'"), wanted)))
