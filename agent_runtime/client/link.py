"""The interface between a Conversation object and the engine that runs the conversation, in this process or
on an agent server.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, Self
from uuid import UUID

from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM
from agent_runtime.wire import (
    CheckpointDiff,
    CheckpointList,
    ClientToolAnswer,
    ConversationInfo,
    ForkRequest,
    RewindRequest,
    RewindResult,
    SendMessageRequest,
    StartGoalRequest,
)


class LinkLostError(Exception):
    """The error that is raised when the stream of frames (messages to clients) broke off. The caller may open
    the stream again, after the last event that it has received.
    """


class Link(Protocol):
    """The connection to one conversation, in this process or on an agent server. Call `open`, use the link
    from one event loop, then call `close`.
    """

    @property
    def id(self) -> UUID: ...

    @property
    def patience_seconds(self) -> float:
        """The time in seconds during which a lost stream of frames (messages of the conversation) is opened
        again before the link counts as disconnected.
        """

    async def open(self) -> None:
        """Opens the existing conversation, or creates it. Raises ConversationError."""

    async def close(self) -> None: ...

    def frames(self, after_seq: int) -> AsyncGenerator[bytes | str, None]:
        """Yields the frames (messages to clients) of the conversation after the position `after_seq` in the
        log: first a `sync` frame, then each event of the log and each piece of a streamed reply. Raises
        LinkLostError if the stream breaks off, DisconnectedError if the conversation cannot be reached any
        more.
        """

    async def info(self) -> ConversationInfo: ...

    async def last_seq(self) -> int: ...

    async def send(self, message: SendMessageRequest) -> None: ...

    async def start(self) -> None:
        """Starts a run. Raises AlreadyRunningError."""

    async def pause(self) -> None: ...

    async def interrupt(self) -> None: ...

    async def condense(self) -> None:
        """Asks the engine to replace older events in the model's prompt by a summary. Raises NoCondenserError
        or NothingToCondenseError.
        """

    async def ask(self, question: str) -> str: ...

    async def navigate(self, event_id: str | None) -> None:
        """Makes the conversation continue from an earlier event, or from its beginning if `event_id` is None.
        Raises EventNotFoundError or AlreadyRunningError.
        """

    async def checkpoints(self) -> CheckpointList: ...

    async def diff_checkpoint(self, number: int) -> CheckpointDiff:
        """Returns how the files have changed since a checkpoint. Raises CheckpointNotFoundError or
        CheckpointsUnavailableError.
        """

    async def rewind(self, number: int, wanted: RewindRequest) -> RewindResult:
        """Restores the files or the chat from the checkpoint `number`. See `Conversation.rewind`."""

    async def update(self, *, title: str | None, tags: dict[str, str] | None) -> None: ...

    async def switch_llm(self, llm: LLM) -> None: ...

    async def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None: ...

    async def set_confirmation_policy(self, policy: JsonObject) -> None: ...

    async def set_security_analyzer(self, analyzer: JsonObject | None) -> None: ...

    async def load_plugin(self, plugin_ref: str) -> None:
        """Adds a plugin to the conversation. Raises ConversationError `plugin_not_found`,
        `plugin_not_fetched` or `plugin_unusable`.
        """

    async def consent(self, hashes: Sequence[str]) -> None:
        """Adds those hooks, MCP servers and plugins of the project that have the given hashes to the
        conversation. Raises ConversationError `offer_changed` if one of them has changed, or
        `plugin_unusable`.
        """

    async def pursue_goal(self, wanted: StartGoalRequest) -> None:
        """Sets a goal for the agent and starts a run, which continues until a judge finds that the goal is
        reached. Raises AlreadyRunningError.
        """

    async def stop_goal(self) -> None: ...

    async def resume_goal(self) -> None:
        """Continues a stopped goal and starts a run. Raises NoGoalToResumeError or AlreadyRunningError."""

    async def answer_client_tool(self, answer: ClientToolAnswer) -> None:
        """Sends the result of the agent's call of a client tool (a tool that a client executes). Raises
        ClientCallNotWaitingError.
        """

    async def reject(self, reason: str) -> None:
        """Rejects the actions that wait for confirmation. Raises NothingToConfirmError."""

    async def fork(self, wanted: ForkRequest) -> Self:
        """Returns a link to a copy of the conversation. The link is not open yet. Raises
        EventNotFoundError.
        """

    async def final_response(self) -> str: ...
