"""The event for a condensation, in which a summary replaces older events in the model's prompt. The log still
contains all events.
"""

from typing import Literal

from agent_runtime.events.base import Event, Source


class Condensation(Event):
    """The event for a condensation. After this event, the prompt contains the text `summary` in place of the
    events `forgotten_event_ids`. `summary_offset`: the number of events in the prompt that come before the
    summary.
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
