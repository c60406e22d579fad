"""The events that change the state of a conversation."""

from enum import StrEnum
from typing import Any, Literal

from agent_runtime.events.base import Event, Source


class ExecutionStatus(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_FOR_CONFIRMATION = "waiting_for_confirmation"
    FINISHED = "finished"
    ERROR = "error"
    STUCK = "stuck"
    DELETING = "deleting"


FULL_STATE = "full_state"


class ConversationStateUpdateEvent(Event):
    """The new value of one field of the conversation's state. The key `full_state` sets many fields at once
    and is never logged.
    """

    source: Source = "environment"
    key: str
    value: Any = None
    kind: Literal["ConversationStateUpdateEvent"] = "ConversationStateUpdateEvent"


class PauseEvent(Event):
    """A user's request that the run stops before its next request to the model or tool call."""

    source: Source = "user"
    kind: Literal["PauseEvent"] = "PauseEvent"


class InterruptEvent(Event):
    """A run was stopped at once, by a user."""

    source: Source = "user"
    kind: Literal["InterruptEvent"] = "InterruptEvent"


def status_update(status: ExecutionStatus) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="execution_status", value=status.value)
