"""Decides which of several values of a setting applies. This module does no I/O.

A person's value overrides the value of a team, and a team's value overrides the value of the organisation. An
enforced value cannot be overridden by lower levels. Several teams of a person may set the same setting. Then
the team that owns the repository of the conversation counts, or else the team whose name comes first in the
alphabet.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app_server.levels.models import Level


@dataclass(frozen=True)
class LevelValue:
    """One value of one setting at one level. team_id and team_name: for the level TEAM, else None. owner_id:
    the id of the organisation, team or user; None for a value that is not stored. comes_first: the value
    belongs to the team that owns the repository of the conversation.
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
        """Words that name the owner of this value, such as the team's name, for use in a sentence."""
        match self.level:
            case Level.ORGANISATION:
                return "your organisation"
            case Level.TEAM:
                return f"the team {self.team_name!r}"
            case Level.USER:
                return "you"


def in_order(values: Iterable[LevelValue]) -> list[LevelValue]:
    """Returns the values of one setting for one person, the strongest first. The first one applies."""
    return sorted(values, key=_rank)


def _rank(value: LevelValue) -> tuple[int, bool, str]:
    if value.enforced:
        rank = 0 if value.level is Level.ORGANISATION else 1
    else:
        rank = {Level.USER: 2, Level.TEAM: 3, Level.ORGANISATION: 4}[value.level]
    return rank, not value.comes_first, (value.team_name or "").casefold()
