"""Database tables for shared conversations. Each row says that a person or a team may view or steer a
conversation.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class ShareRole(StrEnum):
    """What a person or team may do with a shared conversation. `view`: read the conversation. `steer`: also
    send messages, pause and continue the agent, and approve its actions.
    """

    VIEW = "view"
    STEER = "steer"


class ConversationTeamShare(Base):
    """One row for each team with which a conversation is shared. All members of the team have access."""

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
    """One share of a conversation: the role that it gives to one person. The owner has no share."""

    __tablename__ = "conversation_shares"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[ShareRole] = mapped_column(enum_column(ShareRole))
    created_at: Mapped[datetime] = mapped_column(default=now)
