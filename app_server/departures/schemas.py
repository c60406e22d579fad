"""Schemas for a person's belongings, and for deleting a person."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from app_server.core.database import Id


class Belongings(BaseModel):
    """The number of a person's belongings of each kind. Conversations, model profiles, callbacks (actions
    that run for events of conversations) and triggers (rules that start conversations) can be given to
    another person; the other kinds are deleted with the person. `starting`: conversations that are being
    started now; the person cannot be deleted until they have started.
    """

    conversations: int
    profiles: int
    shared_profiles: int
    callbacks: int
    triggers: int
    starting: int
    secrets: int
    git_credentials: int
    mcp_servers: int
    notes: int
    sandbox_specs: int
    api_keys: int


class Fate(StrEnum):
    HAND_OVER = "hand_over"
    DELETE = "delete"


class DeletePerson(BaseModel):
    """The request body that deletes a person. It says whether the person's conversations, model profiles,
    callbacks (actions that run for events of conversations) and triggers (rules that start conversations)
    are deleted or given to another person. `heir_id`: the id of that other person; may be null if all
    belongings are deleted.
    """

    model_config = ConfigDict(extra="forbid")

    conversations: Fate
    profiles: Fate
    callbacks: Fate
    triggers: Fate
    heir_id: Id | None = None

    @property
    def hands_over(self) -> bool:
        return Fate.HAND_OVER in {self.conversations, self.profiles, self.callbacks, self.triggers}

    @model_validator(mode="after")
    def _names_an_heir(self) -> Self:
        if self.hands_over and self.heir_id is None:
            raise ValueError("heir_id must name the person who gets what is handed over")
        return self
