"""A task that a conversation has given to a sub-agent, as its log describes it. Pure."""

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent

TASKS = "tasks"
"""The key in an update of the agent's state: the tasks that have changed, by id."""

TaskStatus = Literal["running", "waiting", "paused", "completed", "error", "conflict", "interrupted"]
_OPEN = {"running", "waiting", "paused"}


class Task(BaseModel):
    """A task of a sub-agent, and its state so far.

    `conversation_id`: where the sub-agent works. `action_id`: the call that started or resumed the task.

    `last_action`: the sub-agent's last action, in a few words. `cost`: dollars so far. `asks`: the actions of
    the sub-agent and of its sub-agents that wait for the user's consent, each with `tool_name`, `summary` and
    `action`. `isolation`: where it works. `ref`: the commit that holds its work, while that conflicts with
    the work of its caller.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    conversation_id: UUID
    action_id: str
    subagent: str
    description: str = ""
    status: TaskStatus = "running"
    last_action: str = ""
    cost: float = 0.0
    asks: tuple[JsonObject, ...] = ()
    isolation: Literal["shared", "worktree"] = "shared"
    ref: str | None = None

    @property
    def is_open(self) -> bool:
        return self.status in _OPEN

    def to_event(self, task_id: str) -> ConversationStateUpdateEvent:
        value = {TASKS: {task_id: self.model_dump(mode="json", exclude_none=True)}}
        return ConversationStateUpdateEvent(key="agent_state", value=value)


def answered(tasks: Mapping[str, Task], action_id: str) -> Mapping[str, Task]:
    """Returns the task after its call has got an answer. What was still open was ended by the answer."""
    cut_off = {
        task_id: task.model_copy(update={"status": "interrupted"})
        for task_id, task in tasks.items()
        if task.action_id == action_id and task.is_open
    }
    return {**tasks, **cut_off} if cut_off else tasks
