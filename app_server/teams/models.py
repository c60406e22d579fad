"""The tables of teams: named groups of people of one organisation."""

import re
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now
from app_server.users.organisations import DEFAULT_ORGANISATION_ID

_BEGINNING = re.compile(r"[0-9a-f]{32}:")


class Team(Base):
    """One row of the table of teams: a named group of people of an organisation. `name_key`: the form of the
    name that is compared; see `name_key_of`.
    """

    __tablename__ = "teams"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    organisation_id: Mapped[UUID] = mapped_column(
        default=DEFAULT_ORGANISATION_ID, server_default=text(f"'{DEFAULT_ORGANISATION_ID.hex}'")
    )
    """There is no foreign key, as in users."""
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


def name_key_of(name: str, organisation_id: UUID) -> str:
    """Returns the key of a team's name. Keys are unique, and teams are sorted by them. A key is the name in
    small letters, so that capitals do not matter. In organisations other than the default one, a key begins
    with the organisation's id, so that two organisations may have teams of the same name.
    """
    key = name.casefold()
    # A name of the default organisation that looks like the key of another one gets the beginning, too.
    has_beginning = organisation_id != DEFAULT_ORGANISATION_ID or _BEGINNING.match(key)
    return f"{organisation_id.hex}:{key}" if has_beginning else key


class TeamMember(Base):
    """One row of the table of members: the membership of one person in one team.

    `provider`: the name of the identity provider whose groups put the person into the team; None: an
    administrator added the person. Each sign-in by this provider replaces the memberships that the provider
    gives.
    """

    __tablename__ = "team_members"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    provider: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(default=now)


class ProvisionedTeam(Base):
    """One row for each team that an identity provider manages: the team's SCIM data in addition to name and
    members.
    """

    __tablename__ = "provisioned_teams"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    external_id: Mapped[str | None] = mapped_column(String(255))
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
