"""Database tables of the repositories that belong to teams, of the rules for conversations about these
repositories, and of the team members who maintain the lists of repositories.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, ForeignKeyConstraint, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

MAX_KEY_CHARACTERS = 500


class MembersSee(StrEnum):
    """The access that members of a team get to conversations that other members start about the team's
    repositories.

    `none`: no access. `view`: the members can read the conversation. `steer`: the members can also send
    messages, pause and continue the agent, and approve its actions.
    """

    NONE = "none"
    VIEW = "view"
    STEER = "steer"


class TeamRepository(Base):
    """The database row of a repository that belongs to a team, or of a pattern. A pattern matches all
    repositories whose names begin with the same text.

    `name`: the text that the user has entered: `host/owner/name`, or the beginning of such a name followed by
    `*`. `key`: the form of this text that is used for comparisons, see names.py. Within an organisation, a
    key belongs to one team only.
    """

    __tablename__ = "team_repositories"

    organisation_id: Mapped[UUID] = mapped_column(primary_key=True)
    """The organisation of the team. Each organisation has a separate list of team repositories."""
    key: Mapped[str] = mapped_column(String(MAX_KEY_CHARACTERS), primary_key=True)
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(MAX_KEY_CHARACTERS))
    created_at: Mapped[datetime] = mapped_column(default=now)


class TeamRepositoryRules(Base):
    """The database row of a team's rules for conversations about the team's repositories. For a team without
    a row, the default rules apply: `members_see` is NONE, `members_only` is False.

    `members_see`: the access that members get to new conversations of other members. `members_only`: whether
    only members of the team may start conversations about these repositories.
    """

    __tablename__ = "team_repository_rules"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    members_see: Mapped[MembersSee] = mapped_column(enum_column(MembersSee))
    members_only: Mapped[bool]


class TeamMaintainer(Base):
    """The database row of a member of a team who may change the list of the team's repositories. The row is
    deleted when the membership ends.
    """

    __tablename__ = "team_maintainers"
    __table_args__ = (
        ForeignKeyConstraint(
            ["team_id", "user_id"],
            ["team_members.team_id", "team_members.user_id"],
            name="fk_team_maintainers_member",
            ondelete="CASCADE",
        ),
    )

    team_id: Mapped[UUID] = mapped_column(primary_key=True)
    user_id: Mapped[UUID] = mapped_column(primary_key=True, index=True)


class ConversationTeam(Base):
    """The database row that stores to which team a conversation belongs. This is the team that owns the
    conversation's repository. The row exists only if a member of the team has started the conversation.

    `sandbox_id`: the sandbox of the conversation. The conversations in one sandbox all have the same team, or
    all have no team.
    """

    __tablename__ = "conversation_teams"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    sandbox_id: Mapped[UUID] = mapped_column(index=True)
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
