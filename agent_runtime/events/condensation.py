"""The event for a condensation, in which a summary replaces older events in the model's prompt. The log keeps
all events.
"""

from typing import Literal

from agent_runtime.events.base import Event, Source


class Condensation(Event):
    """A condensation. From this event on, the model gets `summary` in place of the forgotten events.
    `summary_offset`: how many events come before the summary in the prompt.
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
