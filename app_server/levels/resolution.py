"""Decides which of several values of a setting applies to a user. The functions here do no I/O.

The user's own value overrides the values of teams. A team's value overrides the value of the organisation.
But an enforced value overrides the values of all lower levels: the organisation can enforce a value for teams
and users, and a team can enforce a value for its members.

If several teams of a user set the same setting, the value of the team that owns the repository of the
conversation applies. If none of these teams owns the repository, the value of the team whose name comes first
in the alphabet applies.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app_server.levels.models import Level


@dataclass(frozen=True)
class LevelValue:
    """The value of a setting that the organisation, a team or a user has set.

    enforced: True means that lower levels cannot override the value. Teams are below the organisation, and
    users are below teams. team_id, team_name: the team that has set the value; None for the levels
    ORGANISATION and USER. owner_id: the id of the organisation, team or user that has set the value; None if
    the object was not read from the table of settings. comes_first: whether the value has priority over the
    values of other teams. This is True if the team owns the repository of the conversation for which the
    setting is read.
    """

    level: Level
    value: Any
    enforced: bool = False
    team_id: UUID | None = None
    team_name: str | None = None
    owner_id: UUID | None = None
    comes_first: bool = False

    @property
    def whose(self) -> str:
        """The owner of this value in words, for use in an error text: "your organisation", "you", or the name
        of the team.
        """
        match self.level:
            case Level.ORGANISATION:
                return "your organisation"
            case Level.TEAM:
                return f"the team {self.team_name!r}"
            case Level.USER:
                return "you"


def in_order(values: Iterable[LevelValue]) -> list[LevelValue]:
    """Sorts the values of one setting by priority for one user. The first value of the result applies."""
    return sorted(values, key=_rank)


def _rank(value: LevelValue) -> tuple[int, bool, str]:
    if value.enforced:
        rank = 0 if value.level is Level.ORGANISATION else 1
    else:
        rank = {Level.USER: 2, Level.TEAM: 3, Level.ORGANISATION: 4}[value.level]
    return rank, not value.comes_first, (value.team_name or "").casefold()
