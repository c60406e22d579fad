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
    the user can do (`user_action`). The field `code` of the error's event says more exactly what failed.

    The sets of allowed values of these fields must never grow. Clients read events in lists. An existing
    client refuses a whole list if one event contains a value that this client does not know.
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
    """The event that tells a receiver that a message or an event was refused. `code`: the name of the reason.
    `detail`: the reason as text.

    The agent server sends this event in two cases. First case: it refuses a message from a WebSocket client.
    Then it sends this event to this client. Second case: the app server refuses an event of a conversation.
    Then the agent server sends this event to the app server in place of the refused event, so that the app
    server's log has no gap.

    The agent server never adds this event to its own log.
    """

    source: Source = "environment"
    code: str
    detail: str
    kind: Literal["ServerErrorEvent"] = "ServerErrorEvent"
