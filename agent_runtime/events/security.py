"""The event with the risk analysis of the agent's actions. It is added to the log before the actions run."""

from typing import Literal

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import Event, JsonObject, Source


class SecurityAnalysisEvent(Event):
    """The event with the risk analysis of all actions in one reply of the model. The keys of `risks` and
    `details` are the ids of the action events.

    The details of one action contain the `reasons` for its risk and the names of the security `rules` that
    these reasons come from. `asks` says whether the action needs the user's approval. `likeness` is a text
    that is equal for similar actions. If the user approves all similar actions, later actions with this text
    need no approval.
    """

    source: Source = "environment"
    analyzer: str
    policy: str
    risks: dict[str, SecurityRisk]
    details: dict[str, JsonObject] = {}
    kind: Literal["SecurityAnalysisEvent"] = "SecurityAnalysisEvent"
