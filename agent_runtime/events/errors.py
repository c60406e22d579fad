"""Defines the events for failures. The texts of these events are for people. Programs read the other fields
to decide whether to try again.
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

    Developers must not add new allowed values to these fields, because existing clients refuse a whole page
    (list) of events if it contains a value that they do not know. The field `code` of the error's event says
    more exactly what failed.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: FailureKind
    retryable: bool
    user_action: UserAction


INTERRUPTED = ErrorClassification(kind="agent_action", retryable=True, user_action="none")
"""The classification of a tool call that was interrupted because the user stopped the agent or the server
crashed. The agent has made no mistake and may repeat the call.
"""


class ConversationErrorEvent(Event):
    """The event for an error that ended a run (the agent's work after a message). The user may start a new
    run.
    """

    source: Source = "environment"
    code: str
    detail: str
    classification: ErrorClassification | None = None
    kind: Literal["ConversationErrorEvent"] = "ConversationErrorEvent"


class ServerErrorEvent(Event):
    """The event that reports a refusal. It is used in two cases. The agent server refuses a message of a
    WebSocket client: then it sends this event to the client. The app server refuses an event of a
    conversation: then the agent server sends this event to the app server instead.

    The runtime never adds this event to a log.
    """

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
