"""What a look at the agent's actions found, before they ran."""

from typing import Literal

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import Event, JsonObject, Source


class SecurityAnalysisEvent(Event):
    """One per reply with actions. risks, details: by the id of the ActionEvent.

    In `details`: `reasons`, `rules`, whether it `asks`, and the `likeness` that an approval can be for.
    """

    source: Source = "environment"
    analyzer: str
    policy: str
    risks: dict[str, SecurityRisk]
    details: dict[str, JsonObject] = {}
    kind: Literal["SecurityAnalysisEvent"] = "SecurityAnalysisEvent"
