"""The interface through which a conversation gives tasks to child conversations and sub-agents."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent_runtime.events.base import JsonObject
from agent_runtime.wire import StartChildConversationRequest, StartChildConversationResponse

Isolation = Literal["shared", "worktree"]

LaunchChild = Callable[[StartChildConversationRequest], Awaitable[StartChildConversationResponse]]
"""Starts a child conversation. Raises ChildNotStartedError."""


class DelegationError(Exception):
    """A task cannot be given to a sub-agent. The text tells the model what to do instead."""


class SubAgentKind(Protocol):
    """A sub-agent that a model may choose."""

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
    """A task for a sub-agent.

    call_id: the id of the action event of the tool call that gives the task. A repeated call_id continues the
    same task. resume: the id of an earlier task that continues with this prompt.
    isolation: None means that the sub-agent's definition decides.
    """

    call_id: str
    prompt: str
    subagent: str
    description: str = ""
    resume: str | None = None
    isolation: Isolation | None = None


@dataclass(frozen=True)
class Result:
    """The result of a sub-agent's task.

    text: the sub-agent's report. note: further facts for the model.
    """

    task_id: str
    subagent: str
    is_completed: bool
    text: str
    note: str


class Tasks(Protocol):
    """Runs the sub-agents of one conversation."""

    def kinds(self, projects: Sequence[Path], given: Sequence[JsonObject]) -> Sequence[SubAgentKind]:
        """Returns the sub-agents that can be chosen. Blocking, bounded.

        projects: the directories of the conversation's repositories, its working directory first. given:
        definitions that the client has sent.
        """

    async def work(self, wanted: Assignment) -> Result:
        """Lets a sub-agent do the task and returns its result. Cancelling the call stops the sub-agent.

        Raises DelegationError. Raises CallSuspendedError if the sub-agent has paused or asks the user; then
        the same assignment can be continued later.
        """


@dataclass(frozen=True)
class Delegation:
    """The functions by which a conversation starts child conversations and sub-agents. A field is None if the
    conversation cannot use it.
    """

    launch_child: LaunchChild | None = None
    tasks: Tasks | None = None


ALONE = Delegation()
