"""Database tables of the shares of conversations: which other people and teams may view or steer a
conversation.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class ShareRole(StrEnum):
    """The rights of a user or team with whom a conversation is shared. `view`: may read the conversation.
    `steer`: may also send messages, and pause, continue and approve the agent's work.
    """

    VIEW = "view"
    STEER = "steer"


class ConversationTeamShare(Base):
    """One row for each team that a conversation is shared with. All members of the team have access."""

    __tablename__ = "conversation_team_shares"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    team_id: Mapped[UUID] = mapped_column(
        ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[ShareRole] = mapped_column(enum_column(ShareRole))
    created_at: Mapped[datetime] = mapped_column(default=now)


class ConversationShare(Base):
    """One row for each person, other than the owner, that a conversation is shared with."""

    __tablename__ = "conversation_shares"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[ShareRole] = mapped_column(enum_column(ShareRole))
    created_at: Mapped[datetime] = mapped_column(default=now)
