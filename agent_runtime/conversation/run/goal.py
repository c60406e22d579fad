"""A goal: what the agent is sent back to after each turn, until a judge finds it reached. Pure."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import Event
from agent_runtime.events.state import ConversationStateUpdateEvent

GOAL = "goal"
"""The key of the update that says how a goal stands, and the usage id of its judge."""


class GoalVerdict(BaseModel):
    """What the judge found. score: how likely it is that all is done."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: float = Field(ge=0, le=1)
    complete: bool
    missing: str = ""


class Goal(BaseModel):
    """Where a goal stands. iteration: how many audits it has had."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    active: bool = True
    status: Literal["running", "complete", "capped", "interrupted"] = "running"
    iteration: int = Field(default=0, ge=0)
    max_iterations: int = Field(ge=1)
    objective: str
    verdict: GoalVerdict | None = None

    @property
    def is_over(self) -> bool:
        return self.status in {"complete", "capped"}

    def audited(self, verdict: GoalVerdict) -> "Goal":
        """The goal after one more audit: still pursued, or over."""
        counted = self.model_copy(update={"iteration": self.iteration + 1, "verdict": verdict})
        if verdict.complete:
            return counted.model_copy(update={"active": False, "status": "complete"})
        if counted.iteration >= self.max_iterations:
            return counted.model_copy(update={"active": False, "status": "capped"})
        return counted

    def resumed(self) -> "Goal":
        return self.model_copy(update={"active": True, "status": "running"})

    def interrupted(self) -> "Goal":
        return self.model_copy(update={"active": False, "status": "interrupted"})

    def to_event(self) -> ConversationStateUpdateEvent:
        return ConversationStateUpdateEvent(key=GOAL, value=self.model_dump(mode="json"))


def interruption(goal: Goal | None) -> list[Event]:
    """What is to be said of it when the work stops before it is over."""
    return [goal.interrupted().to_event()] if goal is not None and goal.active else []
