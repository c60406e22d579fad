"""The data type of a task that a conversation has given to a sub-agent, and functions that read such tasks
from events of the log. Has no side effects.
"""

from collections.abc import Mapping
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent

TASKS = "tasks"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains the changed tasks of sub-agents, by task id.
"""

TaskStatus = Literal["running", "waiting", "paused", "completed", "error", "conflict", "interrupted"]
_OPEN = {"running", "waiting", "paused"}


class Task(BaseModel):
    """A task that a conversation has given to a sub-agent, and the status of the task.

    `conversation_id`: the id of the sub-agent's conversation. `action_id`: the id of the tool call that
    started or resumed the task.

    `last_action`: the sub-agent's last action, in a few words. `cost`: the cost so far in dollars. `asks`:
    the actions of the sub-agent and of its sub-agents that wait for the user's confirmation, each with
    `tool_name`, `summary` and `action`. `isolation`: `shared` means that the sub-agent works in the directory
    of the parent (the agent that gave the task), `worktree` in a separate git work tree.

    `ref`: the git ref of the commit with the sub-agent's changes, if these could not be merged into the
    parent's directory; otherwise None.
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
    """Returns the conversation's tasks after the tool call `action_id` has got a result. `tasks`: the tasks
    before the result, by task id.

    A sub-agent works only as long as the tool call that has started or resumed its task has no result. So if
    the task of this tool call is not finished, it gets the status `interrupted`.
    """
    cut_off = {
        task_id: task.model_copy(update={"status": "interrupted"})
        for task_id, task in tasks.items()
        if task.action_id == action_id and task.is_open
    }
    return {**tasks, **cut_off} if cut_off else tasks
