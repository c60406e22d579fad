"""The events for failures. People read their texts; programs decide by their fields whether to try again."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, Source

FailureKind = Literal[
    "auth", "quota", "rate_limit", "config", "transient", "agent_action", "internal", "unknown"
]
UserAction = Literal["none", "retry", "settings"]


class ErrorClassification(BaseModel):
    """The kind of a failure, whether trying again can help, and what the user can do about it.

    Clients accept only the words listed here. They would refuse a whole page of events because of another
    word. The event's `code` is more exact.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: FailureKind
    retryable: bool
    user_action: UserAction


INTERRUPTED = ErrorClassification(kind="agent_action", retryable=True, user_action="none")
"""A stop or a crash interrupted the call. The agent has nothing to correct."""


class ConversationErrorEvent(Event):
    """An error that ended a run. The user may start another run."""

    source: Source = "environment"
    code: str
    detail: str
    classification: ErrorClassification | None = None
    kind: Literal["ConversationErrorEvent"] = "ConversationErrorEvent"


class ServerErrorEvent(Event):
    """The answer on a WebSocket to a message that the server could not accept. In reports to an app server,
    this event replaces an event that the app server refused.

    This event is never in the log.
    """

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
