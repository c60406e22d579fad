"""The tables of the repositories that belong to teams, and of their maintainers."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, ForeignKeyConstraint, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, enum_column, now

MAX_KEY_CHARACTERS = 500


class MembersSee(StrEnum):
    """What the members of a team may do with new conversations on the team's repositories."""

    NONE = "none"
    VIEW = "view"
    STEER = "steer"


class TeamRepository(Base):
    """One row of the table of team repositories: a repository, or a pattern for several repositories whose
    names begin alike.

    `key`: `host/owner/name` in small letters, or the beginning of such a name with `*` at the end. Within an
    organisation, one key belongs to one team only. `name`: the same text as the user entered it.
    """

    __tablename__ = "team_repositories"

    organisation_id: Mapped[UUID] = mapped_column(primary_key=True)
    """The organisation of the team. Each organisation has its own list."""
    key: Mapped[str] = mapped_column(String(MAX_KEY_CHARACTERS), primary_key=True)
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(MAX_KEY_CHARACTERS))
    created_at: Mapped[datetime] = mapped_column(default=now)


class TeamRepositoryRules(Base):
    """One row for each team with rules for conversations on its repositories. A team without a row has the
    defaults: `NONE` and False.

    `members_only`: only members of the team may start conversations on these repositories.
    """

    __tablename__ = "team_repository_rules"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    members_see: Mapped[MembersSee] = mapped_column(enum_column(MembersSee))
    members_only: Mapped[bool]


class TeamMaintainer(Base):
    """One row for each member of a team who may change the list of the team's repositories. The row is
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
    """One row for each conversation whose repository belongs to a team. The row exists only if a member of
    the team started the conversation. All conversations of a sandbox have the same team, or none.
    """

    __tablename__ = "conversation_teams"

    conversation_id: Mapped[UUID] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True
    )
    sandbox_id: Mapped[UUID] = mapped_column(index=True)
    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
