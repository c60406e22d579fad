"""Tables of notes about repositories: notes that the user has accepted, and notes that agents propose."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500


class MemoryProposal(Base):
    """A note about a repository that an agent proposes. `text` is null if the agent proposes to delete the
    note.

    Each change of a proposal gives it a new id. So the user's decision applies only to the text that the user
    has seen.
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
    """A note about a repository that the user has accepted, or that was written before notes had to be
    accepted.

    `repository` is an Address.identity. `conversation_id`: the conversation that wrote the note last; this
    conversation may have been deleted.
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
