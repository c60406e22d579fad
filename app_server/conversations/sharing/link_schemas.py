"""Schemas of requests and replies about read-only links to conversations."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from app_server.core.database import Id, Timestamp

DEFAULT_HOURS = 7 * 24
MAX_HOURS = 90 * 24
MAX_FINDINGS = 100
MAX_PLACES = 10


class SecretPlace(BaseModel):
    """A place in a conversation where a secret was found. `seq`: the position of the event in the event log;
    0 means the title of the conversation. `path`: the field of the event that contains the secret.
    """

    seq: int
    path: str


class SecretFinding(BaseModel):
    """A secret that was found in a conversation. `kind`: the kind of the secret, such as `github_token`,
    which is recognised by its form. The kind `saved_secret` means a secret that is saved in Slipway and that
    the owner's agents can use, such as a secret of the owner or of a team. Only then `name` says which secret
    it is.

    `excerpt`: the first characters of the secret. `count`: how often the secret occurs. `places`: the first
    ten places where the secret occurs.
    """

    id: str
    kind: str
    name: str | None
    excerpt: str
    count: int
    places: list[SecretPlace]


class CreateConversationLink(BaseModel):
    """The request body that makes a read-only link to a conversation. `hours`: how long the link is valid.
    `confirmed_findings`: the ids of the found secrets that the owner agrees to show; every found secret must
    be listed.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    hours: Annotated[int, Field(ge=1, le=MAX_HOURS)] = DEFAULT_HOURS
    confirmed_findings: Annotated[
        list[Annotated[str, Field(max_length=100)]], Field(max_length=MAX_FINDINGS)
    ] = []


class ConversationLinkInfo(BaseModel):
    """A read-only link in a list of the conversation's links, without the URL of the link. `is_active`: false
    if the link has expired.
    """

    id: Id
    name: str
    created_at: Timestamp
    expires_at: Timestamp
    last_used_at: Timestamp | None
    is_active: bool


class CreatedConversationLink(ConversationLinkInfo):
    """The reply when a read-only link was made. `url`: the URL of the link; only this reply shows it."""

    url: str


class LinkedConversation(BaseModel):
    """The reply to a reader of a read-only link: the title of the conversation, when the conversation was
    created, and when the link expires.
    """

    title: str | None
    created_at: Timestamp
    expires_at: Timestamp
