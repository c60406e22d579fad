"""Schemas of teams in the API."""

from pydantic import BaseModel, ConfigDict

from app_server.core.database import Id, Timestamp
from app_server.core.identity_providers import TeamName


class TeamMemberInfo(BaseModel):
    """A person in a team.

    `provider`: the identity provider whose groups put the person into the team; null: an administrator added
    the person. `is_disabled`: the account is disabled, so the person cannot sign in. `is_service`: the
    account is a service account; programs use it with API keys and get what the team gives. `is_maintainer`:
    the person may change the list of the team's repositories.
    """

    user_id: Id
    name: str
    provider: str | None
    is_disabled: bool
    is_service: bool
    is_maintainer: bool
    created_at: Timestamp


class TeamInfo(BaseModel):
    """A team in a list of teams. `is_member`: whether the user who sends the request is in the team."""

    id: Id
    name: str
    created_at: Timestamp
    member_count: int
    is_member: bool


class TeamDetails(TeamInfo):
    """A team with the list of its members, sorted by name."""

    members: list[TeamMemberInfo]


class SaveTeam(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: TeamName
