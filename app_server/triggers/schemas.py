"""The request and response models of the routes for triggers. A trigger is a rule that starts a conversation,
or continues one, when something happens at a git host, such as a push or a new comment.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app_server.core.database import Id, Timestamp
from app_server.git.providers import GitProvider
from app_server.triggers.models import DeliveryResult, TriggerEvent

_Word = Annotated[str, Field(min_length=1, max_length=100)]
_Mention = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
_Path = Annotated[str, Field(min_length=1, max_length=300)]


class TriggerFields(BaseModel):
    """The settings of a trigger: which events at the git host it uses, and which kind of conversation it
    starts.

    label: the label on an issue or pull request that starts the agent's work. mention: the word after the @
    that addresses the agent in a comment. branch: the branch from which conversations start, and on which
    pushes start a conversation; null means the default branch. paths: patterns of file paths. Only pushes
    that change files with such paths start a conversation; an empty list means all files. instructions: a
    text that is added to the first message. llm_profile, sandbox_spec_id: the model profile, and the sandbox
    spec (the image and settings for sandboxes) of the conversations; null means the user's default.
    opens_pull_request: whether Slipway pushes the work and opens a draft pull request when the agent has
    finished. max_running: how many conversations of the user's triggers for this repository may be active at
    the same time; when so many are active, new webhook deliveries wait.
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
    """A request to add a trigger. repository: the URL of a repository at a git host for which the user has
    saved a token. The event `push` needs `instructions`, because a push does not say what the agent has to
    do.
    """

    repository: Annotated[str, Field(min_length=1, max_length=2000)]


class ChangeTrigger(TriggerFields):
    """A request to change the settings of a trigger. Settings that the request leaves out do not change."""


class TriggerInfo(TriggerFields):
    """A trigger of the user, in an API reply.

    url: the URL to which the git host has to send its webhooks. repository: the full name of the repository
    at the git host. previous_secret_until: until when webhook deliveries with the previous secret are
    accepted; null if there is no previous secret. last_delivery_at: when the git host has sent the last
    webhook delivery.
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
    """A trigger with its secret, in the reply to a request that has created the secret. No other reply shows
    the secret.

    secret: the text that the user enters at the git host for the webhook. For Azure DevOps, it is a user name
    and a password, separated by a colon.
    """

    secret: str


class TriggerDeliveryInfo(BaseModel):
    """A webhook delivery of the git host, in an API reply.

    `event`, `actor`, `number`: the kind, the author and the issue or pull request number of the first event
    in the delivery. `action`: what Slipway has done: `start`, `tell`, `fix_checks` or `pause`; null if it has
    done nothing. `reason`: why Slipway has done nothing, or why the action failed. `conversation_id`: the
    conversation that was started, paused or sent a message.
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
    """A request to replace the secret of a trigger by a new one. `keep_previous_hours`: for how many hours
    webhook deliveries that are signed with the previous secret are also accepted.
    """

    model_config = ConfigDict(extra="forbid")

    keep_previous_hours: Annotated[int, Field(ge=0, le=720)] = 24
