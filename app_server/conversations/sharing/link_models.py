"""The database table of read-only links, with which conversations can be read without a sign-in."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class ConversationLink(Base):
    """One row for each read-only link. Until `expires_at`, people who have the link can read the conversation
    without a sign-in.

    `scanned_through`: a position in the log. When the link was made, the events up to this position were
    searched for secrets, and the owner agreed to show the secrets that were found. In later events, secrets
    are hidden.
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
