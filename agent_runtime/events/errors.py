"""The events for failures. People read their texts; programs decide by their fields whether to try again."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, Source

FailureKind = Literal[
    "auth", "quota", "rate_limit", "config", "transient", "agent_action", "internal", "unknown"
]
UserAction = Literal["none", "retry", "settings"]


class ErrorClassification(BaseModel):
    """The kind of failure, whether trying again can help, and what the user can do about it.

    Clients accept only these words; another word would make them refuse the whole page of events. The event's
    `code` is more exact.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: FailureKind
    retryable: bool
    user_action: UserAction


INTERRUPTED = ErrorClassification(kind="agent_action", retryable=True, user_action="none")
"""A stop or a crash interrupted the call. The agent has nothing to correct."""


class ConversationErrorEvent(Event):
    """A run ended because of this error. Running again is allowed."""

    source: Source = "environment"
    code: str
    detail: str
    classification: ErrorClassification | None = None
    kind: Literal["ConversationErrorEvent"] = "ConversationErrorEvent"


class ServerErrorEvent(Event):
    """A socket's answer to a frame that it could not accept. In reports to an app server, it replaces an
    event that the app server refused.

    Never in the runtime's log.
    """

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
