"""Schemas of the requests and replies of the routes for read-only links."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app_server.core.database import Id, Timestamp

DEFAULT_HOURS = 7 * 24
MAX_HOURS = 90 * 24
MAX_FINDINGS = 100
MAX_PLACES = 10


class SecretPlace(BaseModel):
    """A place where a secret occurs in a conversation. `seq`: the position of the event; 0 means the title.
    `path`: the path of the field in the event.
    """

    seq: int
    path: str


class SecretFinding(BaseModel):
    """A secret that was found in a conversation. `kind`: the form of the secret; `saved_secret` means a value
    that the owner has stored under `name`. `excerpt`: its first characters. `count`: how often it occurs.
    `places`: the first ten places where it occurs.
    """

    id: str
    kind: str
    name: str | None
    excerpt: str
    count: int
    places: list[SecretPlace]


class CreateConversationLink(BaseModel):
    """The request body that makes a read-only link. `hours`: for how many hours the link is valid.
    `confirmed_findings`: the ids of the secrets that the owner agrees to show; they must include all secrets
    that are found.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    hours: Annotated[int, Field(ge=1, le=MAX_HOURS)] = DEFAULT_HOURS
    confirmed_findings: Annotated[
        list[Annotated[str, Field(max_length=100)]], Field(max_length=MAX_FINDINGS)
    ] = []


class ConversationLinkInfo(BaseModel):
    """A read-only link in a reply, without its URL. `is_active`: false if the link has expired."""

    id: Id
    name: str
    created_at: Timestamp
    expires_at: Timestamp
    last_used_at: Timestamp | None
    is_active: bool


class CreatedConversationLink(ConversationLinkInfo):
    """The reply with a new read-only link. `url`: the URL of the link, which no later reply contains."""

    url: str


class LinkedConversation(BaseModel):
    """The reply that readers of a read-only link get: facts about the conversation, without its events."""

    title: str | None
    created_at: Timestamp
    expires_at: Timestamp
