"""Keep the texts of messages where a search over conversations finds them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "search_messages"
down_revision = "add_pull_requests"
branch_labels = None
depends_on = None

_BATCH = 500
_MAX_CHARACTERS = 20_000
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
_INDEX = {"sqlite": (_WORDS, _ADDED, _REMOVED), "postgresql": (_GIN,)}


def upgrade() -> None:
    texts = op.create_table(
        "message_texts",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_message_texts_conversation_id", "message_texts", ["conversation_id"])
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        # An index over many rows is made faster at once.
        _take_over(connection, texts)
    for statement in _INDEX[connection.dialect.name]:
        op.execute(statement)
    if connection.dialect.name == "sqlite":
        _take_over(connection, texts)  # through the triggers


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE message_texts_words")
    op.drop_table("message_texts")


def _take_over(connection: sa.Connection, texts: sa.Table) -> None:
    """Adds the texts of the events that are stored already."""
    conversations = sa.table("conversations", sa.column("id", sa.Uuid()))
    ids = connection.execute(sa.select(conversations.c.id)).scalars().all()
    for conversation_id in ids:
        found: list[dict[str, Any]] = []
        for body in _bodies(connection, conversation_id):
            if '"MessageEvent"' in body or '"FinishAction"' in body:
                said = _text_of(json.loads(body))
                if said:
                    found.append({"conversation_id": conversation_id, "text": said})
        for start in range(0, len(found), _BATCH):
            connection.execute(sa.insert(texts), found[start : start + _BATCH])


def _bodies(connection: sa.Connection, conversation_id: UUID) -> Iterator[str]:
    """Yields the bodies of messages and actions in pages. A cursor of the server would stay open until the
    end of all migrations, and PostgreSQL would refuse to alter its table.
    """
    events = sa.table(
        "events",
        sa.column("conversation_id", sa.Uuid()),
        sa.column("seq", sa.Integer()),
        sa.column("kind", sa.String()),
        sa.column("body", sa.Text()),
    )
    last = 0
    while True:
        page = connection.execute(
            sa.select(events.c.seq, events.c.body)
            .where(
                events.c.conversation_id == conversation_id,
                events.c.seq > last,
                events.c.kind.in_(("MessageEvent", "ActionEvent")),
            )
            .order_by(events.c.seq)
            .limit(_BATCH)
        ).all()
        if not page:
            return
        yield from (body for _, body in page)
        last = page[-1].seq


def _text_of(event: Mapping[str, Any]) -> str | None:
    match event:
        case {"kind": "MessageEvent", "source": "user" | "agent", "llm_message": {"content": list(content)}}:
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        case {"kind": "ActionEvent", "action": {"kind": "FinishAction", "message": str(message)}}:
            parts = [message]
        case _:
            return None
    said = "\n".join(part for part in parts if isinstance(part, str))[:_MAX_CHARACTERS]
    return said.replace("\x00", " ").strip() or None
