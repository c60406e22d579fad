"""The event with the risk analysis of the agent's actions. It is added to the log before the actions run."""

from typing import Literal

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import Event, JsonObject, Source


class SecurityAnalysisEvent(Event):
    """The event with the risk analysis of all actions in one reply of the model. `risks` and `details`: by
    the id of the ActionEvent.

    `details` contains `reasons`, `rules`, whether the action needs the user's approval (`asks`), and the kind
    of action (`likeness`) for which the user can approve further actions.
    """

    source: Source = "environment"
    analyzer: str
    policy: str
    risks: dict[str, SecurityRisk]
    details: dict[str, JsonObject] = {}
    kind: Literal["SecurityAnalysisEvent"] = "SecurityAnalysisEvent"
