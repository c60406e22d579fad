"""Schemas of the requests and replies of the routes for triggers."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app_server.core.database import Id, Timestamp
from app_server.git.providers import GitProvider
from app_server.triggers.models import DeliveryResult, TriggerEvent

_Word = Annotated[str, Field(min_length=1, max_length=100)]
_Mention = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
_Path = Annotated[str, Field(min_length=1, max_length=300)]


class TriggerFields(BaseModel):
    """What a trigger reacts to and what it starts.

    label: the label that puts the agent to work. mention: the word after the @. branch: where conversations
    begin, and the branch whose pushes count; null means the default branch. paths: patterns of the files
    whose pushes count; empty means all. instructions: added to the first message. llm_profile,
    sandbox_spec_id: null means the user's defaults. opens_pull_request: when the agent has finished, its work
    is pushed and a draft pull request is opened. max_running: while as many conversations of the user's
    triggers for this repository are at work, no other is started; the delivery waits.
    """

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    events: Annotated[list[TriggerEvent], Field(min_length=1, max_length=len(TriggerEvent))] = [
        TriggerEvent.LABEL,
        TriggerEvent.MENTION,
        TriggerEvent.ASSIGNMENT,
        TriggerEvent.REVIEW_COMMENT,
        TriggerEvent.FAILING_CHECK,
    ]
    label: _Word = "slipway"
    mention: _Mention = "slipway"
    branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    paths: Annotated[list[_Path], Field(max_length=50)] = []
    instructions: Annotated[str, Field(max_length=20_000)] = ""
    llm_profile: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    sandbox_spec_id: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    opens_pull_request: bool = True
    max_running: Annotated[int, Field(ge=1, le=100)] = 5


class AddTrigger(TriggerFields):
    """A new trigger. repository: the URL of a repository at a git host for which the user has saved a token.
    A push says nothing about what to do, so the event `push` needs instructions.
    """

    repository: Annotated[str, Field(min_length=1, max_length=2000)]


class ChangeTrigger(TriggerFields):
    """Changes to a trigger. A field that is left out stays as it is."""


class TriggerInfo(TriggerFields):
    """A trigger. url: the address that the git host has to call. repository: its full name at the host."""

    id: Id
    git_provider: GitProvider
    host: str
    repository: str
    url: str
    previous_secret_until: Timestamp | None
    created_at: Timestamp
    last_delivery_at: Timestamp | None


class TriggerWithSecret(TriggerInfo):
    """A trigger with the secret that the git host needs. It is shown only in this reply. At Azure DevOps it
    is a user name and a password, separated by a colon.
    """

    secret: str


class TriggerDeliveryInfo(BaseModel):
    """A delivery of the git host. `event`, `actor`, `number`: those of the first event in it. `action`:
    `start`, `tell`, `fix_checks`, `pause`, or null if nothing was done. `reason`: why nothing was done, or
    why it failed.
    """

    id: Id
    event: str
    actor: str
    number: int | None
    state: DeliveryResult
    action: str | None
    reason: str | None
    conversation_id: Id | None
    created_at: Timestamp
    handled_at: Timestamp | None


class RotateTriggerSecret(BaseModel):
    """`keep_previous_hours`: how long deliveries with the previous secret are accepted too."""

    model_config = ConfigDict(extra="forbid")

    keep_previous_hours: Annotated[int, Field(ge=0, le=720)] = 24
