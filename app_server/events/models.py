"""The database tables of the events of conversations and of the large parts of events."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base


class StoredEvent(Base):
    """The database row of one event of a conversation. `seq`: the position of the event in the conversation's
    log. `body`: the event as JSON text; it is written once and never changed. `blobs`: the references in
    `body` to large parts of the event (see blobs.py); None if the event has no large parts.
    """

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("conversation_id", "event_id"),
        Index(None, "conversation_id", "kind", "seq"),
        Index(None, "conversation_id", "timestamp", "seq"),
        Index(None, "conversation_id", "kind", "timestamp", "seq"),
    )

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    event_id: Mapped[str] = mapped_column(String(128))
    kind: Mapped[str] = mapped_column(String(100))
    source: Mapped[str] = mapped_column(String(50))
    timestamp: Mapped[datetime]
    body: Mapped[str] = mapped_column(Text)
    blobs: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))


class EventBlob(Base):
    """The database row of a large part of events, for example an image. Several events of a conversation can
    contain the same part. `sha256`: the hash of the part as it was in the event. `content`: the bytes of an
    image, or a text in UTF-8.
    """

    __tablename__ = "event_blobs"

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    media_type: Mapped[str] = mapped_column(String(100))
    content: Mapped[bytes] = mapped_column(LargeBinary)
