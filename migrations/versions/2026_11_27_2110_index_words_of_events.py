"""Keep the words of events where the search within a conversation finds them."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "index_words_of_events"
down_revision = "add_names_of_web_sessions"
branch_labels = None
depends_on = None

_BATCH = 500
_KINDS = (
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "ConversationErrorEvent",
    "UserRejectObservation",
    "Condensation",
)
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


def upgrade() -> None:
    op.create_table(
        "event_words",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("words", sa.Text().with_variant(postgresql.TSVECTOR(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "ix_event_words_conversation_id_seq", "event_words", ["conversation_id", "seq"], unique=True
    )
    connection = op.get_bind()
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite:
        for statement in (_FTS, _ADDED, _REMOVED):
            op.execute(statement)
    _take_over(connection, is_sqlite=is_sqlite)
    if not is_sqlite:
        # An index over many rows is made faster at once.
        op.create_index("ix_event_words_words", "event_words", ["words"], postgresql_using="gin")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE event_words_index")
    op.drop_table("event_words")


def _take_over(connection: sa.Connection, *, is_sqlite: bool) -> None:
    """Adds the words of the events that are stored already."""
    vector = sa.func.array_to_tsvector(sa.func.string_to_array(sa.bindparam("found", type_=sa.Text()), " "))
    words = sa.table(
        "event_words",
        sa.column("conversation_id", sa.Uuid()),
        sa.column("seq", sa.BigInteger()),
        sa.column("words"),
    )
    statement = sa.insert(words).values(words=sa.bindparam("found") if is_sqlite else vector)
    conversations = sa.table("conversations", sa.column("id", sa.Uuid()))
    for conversation_id in connection.execute(sa.select(conversations.c.id)).scalars().all():
        key = "" if is_sqlite else conversation_id.hex[:6]
        for page in _pages(connection, conversation_id):
            found = (
                (seq, sorted(key + word for word in _words_of(_text_of(json.loads(body)))))
                for seq, body in page
            )
            rows = [
                {"conversation_id": conversation_id, "seq": seq, "found": " ".join(each)}
                for seq, each in found
                if each
            ]
            if rows:
                connection.execute(statement, rows)


def _pages(connection: sa.Connection, conversation_id: UUID) -> Iterator[list[tuple[int, str]]]:
    events = sa.table(
        "events",
        sa.column("conversation_id", sa.Uuid()),
        sa.column("seq", sa.BigInteger()),
        sa.column("kind", sa.String()),
        sa.column("body", sa.Text()),
    )
    last = 0
    while True:
        rows = connection.execute(
            sa.select(events.c.seq, events.c.body)
            .where(
                events.c.conversation_id == conversation_id, events.c.seq > last, events.c.kind.in_(_KINDS)
            )
            .order_by(events.c.seq)
            .limit(_BATCH)
        ).all()
        if not rows:
            return
        yield [(seq, body) for seq, body in rows]
        last = rows[-1].seq


def _words_of(text: str) -> set[str]:
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text.casefold())
        text = "".join(each for each in letters if not unicodedata.combining(each))
    return {word[:64] for word in re.findall(r"[^\W_]+", text.lower())}


def _text_of(event: Mapping[str, Any]) -> str:
    match event:
        case {"kind": "MessageEvent", "llm_message": {"content": content}}:
            parts = [each[:20_000] for each in _content_texts(content)]
        case {"kind": "ActionEvent"}:
            called = [event.get("summary"), event.get("thought"), event.get("action")]
            parts = [_ends(each) for each in _strings(called, 4)]
        case {"kind": "ObservationEvent", "observation": {"content": content}}:
            parts = [_ends(each) for each in _content_texts(content)]
        case (
            {"kind": "AgentErrorEvent", "error": str(said)}
            | {"kind": "ConversationErrorEvent", "detail": str(said)}
            | {"kind": "UserRejectObservation", "rejection_reason": str(said)}
            | {"kind": "Condensation", "summary": str(said)}
        ):
            parts = [_ends(said)]
        case _:
            return ""
    return "\n".join(parts)[:40_000]


def _content_texts(content: Any) -> list[str]:
    listed = content if isinstance(content, list) else []
    texts = (part.get("text") for part in listed if isinstance(part, Mapping))
    return [text for text in texts if isinstance(text, str)]


def _ends(text: str) -> str:
    return text if len(text) <= 8000 else f"{text[:4000]}\n{text[-4000:]}"


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > 0 and isinstance(value, Mapping):
        for key, each in value.items():
            if key not in {"kind", "type"}:
                yield from _strings(each, depth - 1)
    elif depth > 0 and isinstance(value, list):
        for each in value:
            yield from _strings(each, depth - 1)
