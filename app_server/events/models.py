"""The table of stored events."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base


class StoredEvent(Base):
    """One event at its position. `body` is the event as JSON text. It is written once and
    returned unchanged.
    """

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("conversation_id", "event_id"),
        Index(None, "conversation_id", "kind", "seq"),
    )

    conversation_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    event_id: Mapped[str] = mapped_column(String(128))
    kind: Mapped[str] = mapped_column(String(100))
    source: Mapped[str] = mapped_column(String(50))
    timestamp: Mapped[datetime]
    body: Mapped[str] = mapped_column(Text)
