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
    """With whom a conversation is shared. `everyone`: what every signed-in user may do; null: nothing."""

    everyone: ShareRole | None
    people: list[SharedPerson]


class SetEveryone(BaseModel):
    model_config = ConfigDict(extra="forbid")

    everyone: ShareRole | None


class SetAccess(BaseModel):
    model_config = ConfigDict(extra="forbid")

    access: ShareRole


class Candidate(BaseModel):
    """A person with whom a conversation can be shared."""

    user_id: Id
    name: str
