"""The database tables of memory notes, which are texts about repositories that agents write for later
conversations. One table is for notes that users have accepted, the other for notes that agents propose.
"""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now

MAX_REPOSITORY_CHARACTERS = 500


class MemoryProposal(Base):
    """The database row of a memory note that an agent proposes and the user has not yet accepted or rejected.
    A memory note is a text about a repository for later conversations. `text`: the proposed text; null if the
    agent proposes to delete the note.

    Each change of a proposal gives it a new id. So a user can accept only the version of the proposal that
    was shown to the user.
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
    """The database row of a note about a repository that later conversations about the repository get. The
    user has accepted the note, or an earlier version of Slipway has stored it without asking the user.

    `repository`: the host and path of the repository, such as github.com/owner/name. `conversation_id`: the
    conversation whose agent wrote the note last; null if it is not known. This conversation may have been
    deleted.
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
