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
    """The event for a new value of one field of a conversation: `key` is the field's name. If `key` is
    `full_state`, `value` is an object with the whole state of the conversation; such an event is never added
    to the log.
    """

    source: Source = "environment"
    key: str
    value: Any = None
    kind: Literal["ConversationStateUpdateEvent"] = "ConversationStateUpdateEvent"


class PauseEvent(Event):
    """The event for a pause: the agent must stop working before its next request to the model."""

    source: Source = "user"
    kind: Literal["PauseEvent"] = "PauseEvent"


class InterruptEvent(Event):
    """The event for a run (work of the agent) that was stopped at once, without waiting for the end of the
    model's reply or of tool calls.
    """

    source: Source = "user"
    kind: Literal["InterruptEvent"] = "InterruptEvent"


def status_update(status: ExecutionStatus) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="execution_status", value=status.value)
