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
    """One field of the conversation has a new value. `full_state` sets many fields at once and is never
    logged.
    """

    source: Source = "environment"
    key: str
    value: Any = None
    kind: Literal["ConversationStateUpdateEvent"] = "ConversationStateUpdateEvent"


class PauseEvent(Event):
    """Asks a run to stop before its next step."""

    source: Source = "user"
    kind: Literal["PauseEvent"] = "PauseEvent"


class InterruptEvent(Event):
    """A run was stopped at once."""

    source: Source = "user"
    kind: Literal["InterruptEvent"] = "InterruptEvent"


def status_update(status: ExecutionStatus) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="execution_status", value=status.value)
