"""The event with the security analysis of the agent's actions, made before the actions run."""

from typing import Literal

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import Event, JsonObject, Source


class SecurityAnalysisEvent(Event):
    """One event per reply with actions. `risks`, `details`: by the id of the ActionEvent.

    `details` contains `reasons`, `rules`, whether the action `asks`, and its `likeness`, for which an
    approval can be given.
    """

    source: Source = "environment"
    analyzer: str
    policy: str
    risks: dict[str, SecurityRisk]
    details: dict[str, JsonObject] = {}
    kind: Literal["SecurityAnalysisEvent"] = "SecurityAnalysisEvent"
