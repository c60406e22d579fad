"""The event for a condensation, in which a summary replaces older events in the model's prompt. The log keeps
all events.
"""

from typing import Literal

from agent_runtime.events.base import Event, Source


class Condensation(Event):
    """The event for a condensation. After this event, the prompt contains `summary` in place of the events
    that the model no longer sees. `summary_offset`: the index of the summary in the prompt's events.
    """

    source: Source = "environment"
    forgotten_event_ids: list[str] = []
    summary: str | None = None
    summary_offset: int | None = None
    llm_response_id: str
    kind: Literal["Condensation"] = "Condensation"


class CondensationRequest(Event):
    source: Source = "environment"
    kind: Literal["CondensationRequest"] = "CondensationRequest"
