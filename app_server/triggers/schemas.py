"""Schemas of requests and replies of the routes for triggers."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app_server.core.database import Id, Timestamp
from app_server.git.providers import GitProvider
from app_server.triggers.models import DeliveryResult, TriggerEvent

_Word = Annotated[str, Field(min_length=1, max_length=100)]
_Mention = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
_Path = Annotated[str, Field(min_length=1, max_length=300)]


class TriggerFields(BaseModel):
    """The settings of a trigger: which events at the git host the trigger reacts to, and what kind of
    conversation it starts.

    label: the label that starts the agent's work on an issue or pull request. mention: the word after the @
    that addresses the agent in a comment. branch: the branch on which conversations begin and whose pushes
    start a conversation; null means the default branch. paths: patterns of the files whose pushes start a
    conversation; empty means all files. instructions: a text that is added to the first message. llm_profile,
    sandbox_spec_id: null means the user's default. opens_pull_request: when the agent has finished, its work
    is pushed and a draft pull request is opened. max_running: how many conversations of the user's triggers
    for this repository may work at the same time; further deliveries wait.
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
    """The request body that adds a trigger. repository: the URL of a repository at a git host for which the
    user has saved a token. For the event `push`, instructions are required, because a push does not say what
    the agent has to do.
    """

    repository: Annotated[str, Field(min_length=1, max_length=2000)]


class ChangeTrigger(TriggerFields):
    """The request body that changes a trigger. A field that is left out stays as it is."""


class TriggerInfo(TriggerFields):
    """A trigger of the user in a reply. url: the URL to which the git host has to send its webhooks.
    repository: the full name of the repository at the git host.
    """

    id: Id
    git_provider: GitProvider
    host: str
    repository: str
    url: str
    previous_secret_until: Timestamp | None
    created_at: Timestamp
    last_delivery_at: Timestamp | None


class TriggerWithSecret(TriggerInfo):
    """The reply with a trigger and the secret that the git host needs for its webhooks. No other reply shows
    the secret. For Azure DevOps, the secret is a user name and a password, separated by a colon.
    """

    secret: str


class TriggerDeliveryInfo(BaseModel):
    """A webhook delivery of the git host, in a reply. `event`, `actor`, `number`: kind, author and issue or
    pull request number of the first event in the delivery. `action`: `start`, `tell`, `fix_checks`, `pause`,
    or null if nothing was done. `reason`: why nothing was done, or why the action failed.
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
    """The request body that gives a trigger a new secret. `keep_previous_hours`: for how many hours
    deliveries with the previous secret are accepted, too.
    """

    model_config = ConfigDict(extra="forbid")

    keep_previous_hours: Annotated[int, Field(ge=0, le=720)] = 24
