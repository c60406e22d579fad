"""The request and response models of the routes for the repositories of teams."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app_server.core.database import Id
from app_server.teams.repositories.models import MembersSee

MAX_REPOSITORIES = 500

EntryName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]


class SaveTeamRepositories(BaseModel):
    """A request to replace the list of a team's repositories and the rules for conversations about them.

    `repositories`: all repositories of the team, each as `host/owner/name`, or as the beginning of such a
    name followed by `*`. `members_see`: the access that members get to other members' conversations about
    these repositories; it applies to conversations that are started from now on. `members_only`: whether only
    members may start conversations about these repositories; null keeps the stored value.
    """

    model_config = ConfigDict(extra="forbid")

    repositories: Annotated[list[EntryName], Field(max_length=MAX_REPOSITORIES)]
    members_see: MembersSee = MembersSee.NONE
    members_only: bool | None = None


class TeamRepositories(BaseModel):
    """The repositories of a team, sorted by name, and the rules for conversations about them.

    `may_change`: whether the current user may change the list and `members_see`. `may_restrict`: whether this
    user may change `members_only`.
    """

    repositories: list[str]
    members_see: MembersSee
    members_only: bool
    may_change: bool
    may_restrict: bool


class RepositoryOwner(BaseModel):
    """The team that owns a repository, as the API returns it. A user who is not a member of the team gets
    this reply only if `members_only` is true. Otherwise, this user gets null.

    `is_member`: whether the user is a member of the team. `members_see`: the access that members get to other
    members' conversations about the repository. `members_only`: whether only members may start conversations
    about the repository. `llm_profile`: the model profile that the user's conversations about this repository
    must use; null if the user may choose a profile.
    """

    team_id: Id
    team_name: str
    is_member: bool
    members_see: MembersSee
    members_only: bool
    llm_profile: str | None
