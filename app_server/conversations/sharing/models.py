"""Tables of shared conversations: which other people and teams may view or steer a conversation."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class ShareRole(StrEnum):
    """`view`: may read the conversation. `steer`: may also send messages, pause, approve and continue."""

    VIEW = "view"
    STEER = "steer"


class ConversationTeamShare(Base):
    """The share of a conversation with a team: all members of the team have access."""

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
    """The share of a conversation with one person who is not its owner."""

    __tablename__ = "conversation_shares"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[ShareRole] = mapped_column(enum_column(ShareRole))
    created_at: Mapped[datetime] = mapped_column(default=now)
