"""Defines the events for failures. Their texts are for people. Programs read their fields to decide whether
to try again.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import Event, Source

FailureKind = Literal[
    "auth", "quota", "rate_limit", "config", "transient", "agent_action", "internal", "unknown"
]
UserAction = Literal["none", "retry", "settings"]


class ErrorClassification(BaseModel):
    """The class of an error: the kind of failure (`kind`), whether a retry can help (`retryable`), and what
    the user can do (`user_action`).

    No values may be added to these fields: a client that finds an unknown value refuses the whole page (list)
    of events that contains it. The field `code` of the error's event says more exactly what failed.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: FailureKind
    retryable: bool
    user_action: UserAction


INTERRUPTED = ErrorClassification(kind="agent_action", retryable=True, user_action="none")
"""A stop or a crash interrupted the call. The agent has nothing to correct."""


class ConversationErrorEvent(Event):
    """The event for an error that ended a run. A new run may be started."""

    source: Source = "environment"
    code: str
    detail: str
    classification: ErrorClassification | None = None
    kind: Literal["ConversationErrorEvent"] = "ConversationErrorEvent"


class ServerErrorEvent(Event):
    """The event that tells a client over the WebSocket that the server refused the client's message. It is
    also sent to an app server in place of an event that the app server refused.

    The runtime never adds this event to a log.
    """

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
