"""Notes about a repository: those that a user has accepted, and those that agents propose."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500


class MemoryProposal(Base):
    """What an agent wants noted. `text` is null where the note is to be deleted.

    Each change gets a new id: an answer is about what its user has seen.
    """

    __tablename__ = "memory_proposals"
    __table_args__ = (UniqueConstraint("user_id", "repository", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS))
    name: Mapped[str] = mapped_column(String(64))
    title: Mapped[str] = mapped_column(String(120))
    text: Mapped[str | None] = mapped_column(Text)
    conversation_id: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(default=now)


class MemoryNote(Base):
    """Accepted, or from before notes had to be accepted.

    `repository` is an Address.identity. `conversation_id` wrote it last; it may be gone by now.
    """

    __tablename__ = "memory_notes"
    __table_args__ = (UniqueConstraint("user_id", "repository", "name"),)

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    repository: Mapped[str] = mapped_column(String(MAX_REPOSITORY_CHARACTERS))
    name: Mapped[str] = mapped_column(String(64))
    title: Mapped[str] = mapped_column(String(120))
    text: Mapped[str] = mapped_column(Text)
    conversation_id: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(default=now)
    updated_at: Mapped[datetime] = mapped_column(default=now)
