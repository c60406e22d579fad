"""What went wrong, for people and for programs that decide whether to try again."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, Source

FailureKind = Literal[
    "auth", "quota", "rate_limit", "config", "transient", "agent_action", "internal", "unknown"
]
UserAction = Literal["none", "retry", "settings"]


class ErrorClassification(BaseModel):
    """What kind of failure it is, whether trying again can help, and what the user can do about it.

    Clients know these words and no others: one more would make them refuse the page it is on. What is meant
    more exactly is the event's `code`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: FailureKind
    retryable: bool
    user_action: UserAction


INTERRUPTED = ErrorClassification(kind="agent_action", retryable=True, user_action="none")
"""A stop or a crash cut a call off: there is nothing for the agent to correct."""


class ConversationErrorEvent(Event):
    """A run ended because of this. Running again is allowed."""

    source: Source = "environment"
    code: str
    detail: str
    classification: ErrorClassification | None = None
    kind: Literal["ConversationErrorEvent"] = "ConversationErrorEvent"


class ServerErrorEvent(Event):
    """A socket's answer to a frame it could not accept, or what a report has in an event's place.

    Never in the runtime's own log.
    """

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
