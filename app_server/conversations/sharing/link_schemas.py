"""Schemas of read-only links to conversations."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app_server.core.database import Id, Timestamp

DEFAULT_HOURS = 7 * 24
MAX_HOURS = 90 * 24
MAX_FINDINGS = 100
MAX_PLACES = 10


class SecretPlace(BaseModel):
    """The position of a secret. `seq`: the position of the event; 0 means the title. `path`: the field of the
    event.
    """

    seq: int
    path: str


class SecretFinding(BaseModel):
    """A secret in a conversation. `kind`: the form of the secret; `saved_secret` means a value that the owner
    has stored, with its `name`. `excerpt`: the first characters. `count`: how often the secret occurs.
    `places`: the first ten places.
    """

    id: str
    kind: str
    name: str | None
    excerpt: str
    count: int
    places: list[SecretPlace]


class CreateConversationLink(BaseModel):
    """A new link. `hours`: how long it is valid. `confirmed_findings`: the ids of the secrets that the owner
    agrees to show. It must contain every finding.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    hours: Annotated[int, Field(ge=1, le=MAX_HOURS)] = DEFAULT_HOURS
    confirmed_findings: Annotated[
        list[Annotated[str, Field(max_length=100)]], Field(max_length=MAX_FINDINGS)
    ] = []


class ConversationLinkInfo(BaseModel):
    """A link without its address. `is_active`: false if it has expired."""

    id: Id
    name: str
    created_at: Timestamp
    expires_at: Timestamp
    last_used_at: Timestamp | None
    is_active: bool


class CreatedConversationLink(ConversationLinkInfo):
    """A new link. `url`: its address, which is shown only in this reply."""

    url: str


class LinkedConversation(BaseModel):
    """The facts that a link shows in addition to the events."""

    title: str | None
    created_at: Timestamp
    expires_at: Timestamp
