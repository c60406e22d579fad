"""Schemas of the sharing routes."""

from pydantic import BaseModel, ConfigDict

from app_server.conversations.sharing.models import ShareRole
from app_server.core.database import Id, Timestamp


class SharedPerson(BaseModel):
    user_id: Id
    name: str
    access: ShareRole
    created_at: Timestamp


class Sharing(BaseModel):
    """The people who have access to a conversation. `everyone`: what every signed-in user may do, or null."""

    everyone: ShareRole | None
    people: list[SharedPerson]


class SetEveryone(BaseModel):
    model_config = ConfigDict(extra="forbid")

    everyone: ShareRole | None


class SetAccess(BaseModel):
    model_config = ConfigDict(extra="forbid")

    access: ShareRole


class Candidate(BaseModel):
    """A person who can be given access."""

    user_id: Id
    name: str
