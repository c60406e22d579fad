"""The goal of a conversation. When the agent says that it is done, a judge (a model) checks whether the goal
is reached. If it is not reached, the agent must continue. Has no side effects.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.base import Event
from agent_runtime.events.state import ConversationStateUpdateEvent

GOAL = "goal"
"""The key of an event that updates the state. The value is the goal with its status. The text `goal` is also
the id under which the tokens and cost of the judge's model are counted.
"""


class GoalVerdict(BaseModel):
    """The verdict of the judge (a model) on a conversation's goal. `score`: the probability that the whole
    goal is reached, from 0 to 1. `missing`: what is not done yet.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: float = Field(ge=0, le=1)
    complete: bool
    missing: str = ""


class Goal(BaseModel):
    """The goal of a conversation and its status. `active`: whether the agent still works on the goal.
    `status`: `capped` means that the judge (a model) has checked the goal `max_iterations` times without
    success. `objective`: the text of the goal. `iteration`: how often the judge has checked the goal so far.
    `verdict`: the judge's last verdict; None before the first check.
    """

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
        """Returns a copy of the goal with one more verdict of the judge (a model). The status of the copy is
        `complete` if the goal is reached, `capped` if it was checked `max_iterations` times without success,
        and otherwise `running`.
        """
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
    """Returns a list with the event that changes the goal's status to `interrupted`. Returns an empty list if
    the conversation has no active goal. The caller logs the event when the work on the goal stops before the
    goal is reached.
    """
    return [goal.interrupted().to_event()] if goal is not None and goal.active else []
