"""The event with the security analysis of the agent's actions, made before the actions run."""

from typing import Literal

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import Event, JsonObject, Source


class SecurityAnalysisEvent(Event):
    """The security analysis of all actions in one reply. The keys of `risks` and `details` are the ids of the
    ActionEvents.

    `details` contains for each action: `reasons`, `rules`, `asks` (whether the user must confirm the action),
    and `likeness` (the kind of action that the user can approve).
    """

    source: Source = "environment"
    analyzer: str
    policy: str
    risks: dict[str, SecurityRisk]
    details: dict[str, JsonObject] = {}
    kind: Literal["SecurityAnalysisEvent"] = "SecurityAnalysisEvent"
