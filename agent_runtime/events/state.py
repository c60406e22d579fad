"""Defines the events that change the state of a conversation."""

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
    """The event for a new value of one field of a conversation. With the key `full_state`, the event contains
    many fields and is never added to the log.
    """

    source: Source = "environment"
    key: str
    value: Any = None
    kind: Literal["ConversationStateUpdateEvent"] = "ConversationStateUpdateEvent"


class PauseEvent(Event):
    """The event for a request to stop a run before its next request to the model."""

    source: Source = "user"
    kind: Literal["PauseEvent"] = "PauseEvent"


class InterruptEvent(Event):
    """The event for a run that was stopped at once."""

    source: Source = "user"
    kind: Literal["InterruptEvent"] = "InterruptEvent"


def status_update(status: ExecutionStatus) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="execution_status", value=status.value)
