"""The event for a condensation, in which a summary replaces older events in the model's prompt. The log still
contains all events.
"""

from typing import Literal

from agent_runtime.events.base import Event, Source


class Condensation(Event):
    """The event for a condensation. In all prompts after this event, the events whose ids are in
    `forgotten_event_ids` are replaced by the text `summary`. `summary_offset`: the position of the summary in
    the prompt, as the number of events before it.
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
