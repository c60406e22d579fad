"""The database table of read-only links to conversations."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class ConversationLink(Base):
    """One row of the table of read-only links. People who are not signed in can read the conversation with
    the link until `expires_at`.

    scanned_through: the position of the last event that existed when the link was made. In the events up to
    this position, readers also see secrets, because the owner has agreed to show these secrets. In later
    events, secrets are hidden.
    """

    __tablename__ = "conversation_links"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), index=True
    )
    name: Mapped[str] = mapped_column(String(100))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scanned_through: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
