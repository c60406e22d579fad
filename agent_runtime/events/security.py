"""The event with the risk analysis of the agent's actions. It is added to the log before the actions run."""

from typing import Literal

from agent_runtime.events.action import SecurityRisk
from agent_runtime.events.base import Event, JsonObject, Source


class SecurityAnalysisEvent(Event):
    """The event with the risk analysis of all actions in one reply of the model. The keys of `risks` and
    `details` are the ids of the action events.

    The value in `details` for one action is an object with these fields. `reasons`: texts that explain the
    risk. `rules`: the names of the rules that found something in the action. `asks`: whether the user must
    approve the action. `likeness`: a text that describes the action and is the same for all similar actions,
    such as calls of the same program. It is missing for actions that never need approval.

    If the user approves an action and all similar actions, the runtime stores the `likeness` of the action.
    Later actions with the same `likeness` then need no approval.
    """

    source: Source = "environment"
    analyzer: str
    policy: str
    risks: dict[str, SecurityRisk]
    details: dict[str, JsonObject] = {}
    kind: Literal["SecurityAnalysisEvent"] = "SecurityAnalysisEvent"
