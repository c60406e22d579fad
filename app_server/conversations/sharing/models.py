"""Database tables for shared conversations. Each row says that a person or a team may view or steer a
conversation. To steer means to send messages and to control the agent.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now


class ShareRole(StrEnum):
    """The roles that a person or team can have in a shared conversation. `view`: may read the conversation.
    `steer`: may also send messages, pause and continue the agent, and approve its actions.
    """

    VIEW = "view"
    STEER = "steer"


class ConversationTeamShare(Base):
    """One row of the table of conversations shared with teams: the role that all members of one team have in
    one conversation.
    """

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
    """One row of the table of conversations shared with people: the role that one person has in one
    conversation. The owner of a conversation has no such row.
    """

    __tablename__ = "conversation_shares"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[ShareRole] = mapped_column(enum_column(ShareRole))
    created_at: Mapped[datetime] = mapped_column(default=now)
