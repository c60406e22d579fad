"""The request and response models of the routes for teams."""

from pydantic import BaseModel, ConfigDict

from app_server.core.database import Id, Timestamp
from app_server.core.identity_providers import TeamName


class TeamMemberInfo(BaseModel):
    """A member of a team, in a reply of the API.

    `provider`: the identity provider that has added the person to the team; null if an administrator has
    added the person. `is_disabled`: whether the account is disabled, so that the person cannot sign in.
    `is_service`: whether the account is a service account, which only programs use, with API keys.
    `is_maintainer`: whether the person may change the list of the team's repositories. `created_at`: when the
    membership began.
    """

    user_id: Id
    name: str
    provider: str | None
    is_disabled: bool
    is_service: bool
    is_maintainer: bool
    created_at: Timestamp


class TeamInfo(BaseModel):
    """A team in a list of teams, without its members. `is_member`: whether the current user is a member of
    the team.
    """

    id: Id
    name: str
    created_at: Timestamp
    member_count: int
    is_member: bool


class TeamDetails(TeamInfo):
    """A team with all its members. The members are sorted by name."""

    members: list[TeamMemberInfo]


class SaveTeam(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: TeamName
