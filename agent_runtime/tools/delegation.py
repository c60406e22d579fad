"""What a conversation may ask of the place it lives in: that others work for it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent_runtime.events.base import JsonObject
from agent_runtime.wire import StartChildConversationRequest, StartChildConversationResponse

Isolation = Literal["shared", "worktree"]

LaunchChild = Callable[[StartChildConversationRequest], Awaitable[StartChildConversationResponse]]
"""Starts a conversation beside this one. ChildNotStartedError."""


class DelegationError(Exception):
    """The task cannot be handed over. The text is for the model: it says what to do instead."""


class SubAgentKind(Protocol):
    """A sub-agent that may be chosen."""

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
    """call_id: of the action that hands it over; a second call with it means the same work.

    resume: the id of an earlier task that goes on with this prompt. isolation: None is as the sub-agent's
    definition has it.
    """

    call_id: str
    prompt: str
    subagent: str
    description: str = ""
    resume: str | None = None
    isolation: Isolation | None = None


@dataclass(frozen=True)
class Result:
    """What came of an assignment. text: the sub-agent's own words. note: what is to be known beside them."""

    task_id: str
    subagent: str
    is_completed: bool
    text: str
    note: str


class Tasks(Protocol):
    """The sub-agents of one conversation."""

    def kinds(self, working_dir: Path, given: Sequence[JsonObject]) -> Sequence[SubAgentKind]:
        """Those there are to choose from. given: definitions that the client has sent. Blocking, bounded."""

    async def work(self, wanted: Assignment) -> Result:
        """Has it done; cancelling it stops the sub-agent. DelegationError.

        CallSuspendedError when the sub-agent has paused, or asks the user: the same assignment goes on.
        """


@dataclass(frozen=True)
class Delegation:
    """None: it is not possible here."""

    launch_child: LaunchChild | None = None
    tasks: Tasks | None = None


ALONE = Delegation()
