"""Schemas of requests and replies of the routes that share conversations with people and teams."""

from pydantic import BaseModel, ConfigDict

from app_server.conversations.sharing.models import ShareRole
from app_server.core.database import Id, Timestamp


class SharedPerson(BaseModel):
    user_id: Id
    name: str
    access: ShareRole
    created_at: Timestamp


class SharedTeam(BaseModel):
    """A team with which a conversation is shared. `member_count`: how many people are in the team."""

    team_id: Id
    name: str
    access: ShareRole
    member_count: int
    created_at: Timestamp


class Sharing(BaseModel):
    """The reply of the sharing routes: the people and teams that have access to a conversation. `everyone`:
    what every signed-in user of the organisation may do with the conversation; null if it is not shared with
    everyone.
    """

    everyone: ShareRole | None
    people: list[SharedPerson]
    teams: list[SharedTeam]


class SetEveryone(BaseModel):
    model_config = ConfigDict(extra="forbid")

    everyone: ShareRole | None


class SetAccess(BaseModel):
    model_config = ConfigDict(extra="forbid")

    access: ShareRole


class Candidate(BaseModel):
    """A person or a team with which a conversation can be shared. A person has a `user_id` and no `team_id`;
    a team has a `team_id` and no `user_id`. `is_service`: whether the person is a service account.
    """

    user_id: Id | None = None
    team_id: Id | None = None
    name: str
    is_service: bool = False
