"""The interface through which a conversation starts child conversations and gives tasks to sub-agents."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent_runtime.events.base import JsonObject
from agent_runtime.wire import StartChildConversationRequest, StartChildConversationResponse

Isolation = Literal["shared", "worktree"]

LaunchChild = Callable[[StartChildConversationRequest], Awaitable[StartChildConversationResponse]]
"""The type of a function that starts a child conversation. The function raises ChildNotStartedError if the
conversation cannot be started.
"""


class DelegationError(Exception):
    """The error that is raised when a task cannot be given to a sub-agent. The text tells the model what to
    do instead.
    """


class SubAgentKind(Protocol):
    """The interface of a sub-agent definition, which describes a kind of sub-agent. A sub-agent works on a
    task for the agent. For each task, the agent's model chooses one of the definitions.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def tools(self) -> Sequence[str]: ...
    @property
    def when_to_use_examples(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Assignment:
    """A task that the agent gives to a sub-agent.

    `prompt`: the text that describes the task. `subagent`: the name of the sub-agent definition.

    `call_id`: the id of the event of the tool call that gives the task. If an interrupted call is repeated
    with the same `call_id`, the same task continues. `resume`: the id of an earlier task that the sub-agent
    continues with `prompt` as a new message; None for a new task.

    `isolation`: where the sub-agent works. `shared` means the directory of the agent that gives the task;
    `worktree` means a separate git work tree; None means that the definition of the sub-agent decides.
    """

    call_id: str
    prompt: str
    subagent: str
    description: str = ""
    resume: str | None = None
    isolation: Isolation | None = None


@dataclass(frozen=True)
class Result:
    """The result of a task that was given to a sub-agent.

    `is_completed`: whether the sub-agent has finished the task. `text`: the sub-agent's report. `note`: more
    information for the model.
    """

    task_id: str
    subagent: str
    is_completed: bool
    text: str
    note: str


class Tasks(Protocol):
    """The interface of the object that runs the sub-agents of one conversation."""

    def kinds(self, projects: Sequence[Path], given: Sequence[JsonObject]) -> Sequence[SubAgentKind]:
        """Returns the definitions of the sub-agents that the model can choose. Blocks the thread for a
        limited time, because it reads files.

        `projects`: the directories of the conversation's repositories; the working directory is first.
        `given`: sub-agent definitions that the client of the agent server has sent.
        """

    async def work(self, wanted: Assignment) -> Result:
        """Runs a sub-agent on the task and returns the result of the task. If the call is cancelled, the
        sub-agent stops.

        Raises DelegationError if the task cannot be given to the sub-agent. Raises CallSuspendedError if the
        sub-agent has paused or waits for the user. A later call with the same `call_id` continues the task.
        """


@dataclass(frozen=True)
class Delegation:
    """The objects by which a conversation starts child conversations and gives tasks to sub-agents.

    `launch_child`: a function that starts a child conversation; None if the conversation may not start any.
    `tasks`: the object that runs the sub-agents; None if the conversation may not use sub-agents.
    """

    launch_child: LaunchChild | None = None
    tasks: Tasks | None = None


ALONE = Delegation()
