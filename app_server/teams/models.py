"""The tables of teams: named groups of people of this installation."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now


class Team(Base):
    """A named group of people. `name_key` is the name in small letters, so that capitals do not matter."""

    __tablename__ = "teams"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class TeamMember(Base):
    """One person in one team.

    `provider`: the name of the identity provider whose groups put the person into the team. Each sign-in with
    this provider replaces these rows. None: an administrator added the person.
    """

    __tablename__ = "team_members"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    provider: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(default=now)


class ProvisionedTeam(Base):
    """What an identity provider states about a team that it manages through SCIM, in addition to name and
    members.
    """

    __tablename__ = "provisioned_teams"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    external_id: Mapped[str | None] = mapped_column(String(255))
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
