"""Database tables of teams, of their members, and of the teams that an identity provider manages. A team is a
named group of people in an organisation.
"""

import re
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ForeignKey, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app_server.core.database import Base, now
from app_server.users.organisations import DEFAULT_ORGANISATION_ID

_BEGINNING = re.compile(r"[0-9a-f]{32}:")


class Team(Base):
    """The database row of a team, which is a named group of people in an organisation. `name_key`: the form
    of the name that is used to compare and sort names, see `name_key_of`.
    """

    __tablename__ = "teams"

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    organisation_id: Mapped[UUID] = mapped_column(
        default=DEFAULT_ORGANISATION_ID, server_default=text(f"'{DEFAULT_ORGANISATION_ID.hex}'")
    )
    """The organisation of the team. The column has no foreign key, because SQLite cannot add one to a table
    that has rows.
    """
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


def name_key_of(name: str, organisation_id: UUID) -> str:
    """Returns the key of a team's name. Two teams cannot have the same key. Lists of teams are sorted by the
    keys.

    The key is the name in lower case, so an organisation cannot have two teams whose names differ only in
    upper and lower case. In organisations other than the default one, the id of the organisation stands
    before the name. So teams of different organisations may have the same name.
    """
    key = name.casefold()
    # A name of the default organisation that looks like the key of another one gets the beginning, too.
    has_beginning = organisation_id != DEFAULT_ORGANISATION_ID or _BEGINNING.match(key)
    return f"{organisation_id.hex}:{key}" if has_beginning else key


class TeamMember(Base):
    """The database row of the membership of one person in one team.

    `provider`: the name of the identity provider that has added the person, because of a group at the
    provider; None if an administrator has added the person. Each time the person signs in at this provider,
    the person's memberships that come from this provider are replaced.
    """

    __tablename__ = "team_members"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    provider: Mapped[str | None] = mapped_column(String(32))
    created_at: Mapped[datetime] = mapped_column(default=now)


class ProvisionedTeam(Base):
    """The database row of a team that an identity provider manages with the protocol SCIM. `external_id`: the
    id that the identity provider uses for the team.
    """

    __tablename__ = "provisioned_teams"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    external_id: Mapped[str | None] = mapped_column(String(255))
    updated_at: Mapped[datetime] = mapped_column(default=now, onupdate=now)
