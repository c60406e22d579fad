"""Reviews all actions of one reply of the model, and decides whether the user must confirm these actions
before any of them runs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import JsonObject
from agent_runtime.events.security import SecurityAnalysisEvent
from agent_runtime.security.actions import NEVER_CONFIRMED, judge_action
from agent_runtime.security.analyzers import RULES_ALONE, AnyAnalyzer
from agent_runtime.security.finding import Finding, is_on_floor, worst
from agent_runtime.security.policy import NeverConfirm, Policy
from agent_runtime.tools.tool import AnyTool


@dataclass(frozen=True)
class Review:
    """The result of the security review of all actions in one reply of the model. `asks`: whether all actions
    must wait for the user's confirmation.

    `event`: the event with the findings, for the conversation's log. None if there are no actions. Also None
    if the security review is turned off (no analyzer is chosen, and the confirmation policy is
    `NeverConfirm`) and the fixed rules ask for no confirmation.
    """

    event: SecurityAnalysisEvent | None
    asks: bool


@dataclass(frozen=True)
class Reviewer:
    """An object that decides which actions of a model's reply need the user's confirmation.

    `directory`: the current directory of the agent's shell; None if not known. `approved`: the `likeness`
    texts of the actions that the user has approved together with all similar actions (see `Judgement`). An
    action whose `likeness` is in `approved` needs no confirmation.
    """

    policy: Policy
    analyzer: AnyAnalyzer | None
    tools: Mapping[str, AnyTool]
    workspace: str
    directory: str | None = None
    approved: Collection[str] = ()

    def review(self, actions: Sequence[ActionEvent]) -> Review:
        """Reviews the actions of one reply of the model and returns the result. If one action needs
        confirmation, all actions of the reply wait for the user.
        """
        if not actions:
            return Review(None, asks=False)
        details = {action.id: self._details(action) for action in actions}
        asks = any(one["asks"] for one in details.values())
        if not asks and self.analyzer is None and isinstance(self.policy, NeverConfirm):
            return Review(None, asks=False)
        event = SecurityAnalysisEvent(
            analyzer=self.analyzer.kind if self.analyzer else RULES_ALONE,
            policy=self.policy.kind,
            risks={action_id: one.pop("risk") for action_id, one in details.items()},
            details=details,
        )
        return Review(event, asks=asks)

    def likeness(self, action: ActionEvent) -> str:
        return judge_action(action, self.tools, self.workspace, directory=self.directory).likeness

    def _details(self, action: ActionEvent) -> JsonObject:
        if action.tool_name in NEVER_CONFIRMED:
            return {"risk": "LOW", "reasons": [], "rules": [], "asks": False}
        judgement = judge_action(action, self.tools, self.workspace, directory=self.directory)
        said = (
            list(self.analyzer.look(action, judgement))
            if self.analyzer and not self._only_reads(action)
            else []
        )
        found = tuple(dict.fromkeys((*judgement.findings, *said)))
        risk = worst([one.risk for one in found])
        asks = self.policy.asks(risk) or any(self.policy.asks(one.risk) for one in found)
        asks = asks or any(map(is_on_floor, judgement.findings))
        return {
            "risk": risk,
            "reasons": [one.reason for one in _telling(found)],
            "rules": [one.rule for one in found],
            "asks": asks and judgement.likeness not in self.approved,
            "likeness": judgement.likeness,
        }

    def _only_reads(self, action: ActionEvent) -> bool:
        """Returns whether the action's tool only reads data. The security analyzer is not used for calls of
        such tools, because the model is not asked to rate the risk of these calls.
        """
        tool = self.tools.get(action.tool_name)
        return tool is not None and tool.annotations.readOnlyHint


def _telling(found: Sequence[Finding]) -> list[Finding]:
    """Returns the findings to show to the user as reasons for the risk of an action, with the highest risk
    first. Findings of low risk are left out.
    """
    order = ("HIGH", "UNKNOWN", "MEDIUM")
    return sorted((one for one in found if one.risk in order), key=lambda one: order.index(one.risk))
