"""Schemas of the repositories of teams in the API."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app_server.core.database import Id
from app_server.teams.repositories.models import MembersSee

MAX_REPOSITORIES = 500

EntryName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class SaveTeamRepositories(BaseModel):
    """The request body that replaces the repositories of a team. `repositories`: all repositories of the
    team, each as `host/owner/name`, or as the beginning of such a name with `*` at the end. `members_see`:
    what members of the team may do with conversations that are started from now on. `members_only`: only
    members may start conversations on these repositories; null or left out keeps the stored value.
    """

    model_config = ConfigDict(extra="forbid")

    repositories: Annotated[list[EntryName], Field(max_length=MAX_REPOSITORIES)]
    members_see: MembersSee = MembersSee.NONE
    members_only: bool | None = None


class TeamRepositories(BaseModel):
    """The repositories of a team, sorted by name. `may_change`: whether the user may change the list and
    `members_see`. `may_restrict`: whether the user may change `members_only`.
    """

    repositories: list[str]
    members_see: MembersSee
    members_only: bool
    may_change: bool
    may_restrict: bool


class RepositoryOwner(BaseModel):
    """The team that a repository belongs to. Members of the team see it. Other users see it only if they may
    not start conversations on the repository. `llm_profile`: the model profile that the user's conversations
    on this repository must use; null if the user may choose.
    """

    team_id: Id
    team_name: str
    is_member: bool
    members_see: MembersSee
    members_only: bool
    llm_profile: str | None
