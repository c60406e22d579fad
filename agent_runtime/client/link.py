"""The interface between a Conversation object and the engine that runs the agent, in this process or on an
agent server.
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
    """The error that is raised when the stream of frames (messages to clients) ends unexpectedly. The caller
    may open the stream again, after the last event that it has received.
    """


class Link(Protocol):
    """The connection to one conversation, in this process or on an agent server. Call `open`, use the link
    from one event loop, then call `close`.
    """

    @property
    def id(self) -> UUID: ...

    @property
    def patience_seconds(self) -> float:
        """How many seconds the client tries to open the stream of frames (messages of the conversation) again
        after the stream was lost. After this time, the client gives up and raises DisconnectedError.
        """

    async def open(self) -> None:
        """Opens the conversation if it exists, or creates it. Raises ConversationError if this fails."""

    async def close(self) -> None: ...

    def frames(self, after_seq: int) -> AsyncGenerator[bytes | str, None]:
        """Yields the frames (messages to clients) of the conversation: first a `sync` frame, then each event
        after the position `after_seq` of the log, and each piece of a streamed reply. Raises LinkLostError if
        the stream ends unexpectedly. Raises DisconnectedError if the conversation cannot be reached any more.
        """

    async def info(self) -> ConversationInfo: ...

    async def last_seq(self) -> int: ...

    async def send(self, message: SendMessageRequest) -> None: ...

    async def start(self) -> None:
        """Starts a run: the agent works until it has finished, waits for confirmation, or is stopped. Raises
        AlreadyRunningError if a run is active.
        """

    async def pause(self) -> None: ...

    async def interrupt(self) -> None: ...

    async def condense(self) -> None:
        """Asks the engine that runs the agent to replace older events in the model's prompt by a summary.
        Raises NoCondenserError if the agent has no condenser. Raises NothingToCondenseError if there is
        nothing to replace.
        """

    async def ask(self, question: str) -> str: ...

    async def navigate(self, event_id: str | None) -> None:
        """Makes the conversation continue from an earlier event, or from its beginning if `event_id` is None.
        Raises EventNotFoundError if there is no such event. Raises AlreadyRunningError if the agent is
        working.
        """

    async def checkpoints(self) -> CheckpointList: ...

    async def diff_checkpoint(self, number: int) -> CheckpointDiff:
        """Returns how the files have changed since the checkpoint `number` (a snapshot of the files). Raises
        CheckpointNotFoundError if there is no such checkpoint. Raises CheckpointsUnavailableError if the
        current files cannot be compared with the checkpoint.
        """

    async def rewind(self, number: int, wanted: RewindRequest) -> RewindResult:
        """Resets the files, the chat or both to a checkpoint (a snapshot of the files). `number`: the number
        of the checkpoint. `wanted`: says whether the files and the chat are reset, and what is done with
        files that were edited since the checkpoint. Raises the same errors as `Conversation.rewind`.
        """

    async def update(self, *, title: str | None, tags: dict[str, str] | None) -> None: ...

    async def switch_llm(self, llm: LLM) -> None: ...

    async def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None: ...

    async def set_confirmation_policy(self, policy: JsonObject) -> None: ...

    async def set_security_analyzer(self, analyzer: JsonObject | None) -> None: ...

    async def load_plugin(self, plugin_ref: str) -> None:
        """Adds a plugin to the conversation. `plugin_ref`: the name of one of the user's plugins, or the
        directory or repository of a plugin. Raises ConversationError `plugin_not_found` if there is no such
        plugin, `plugin_not_fetched` if it cannot be fetched, or `plugin_unusable` if it cannot be loaded.
        """

    async def consent(self, hashes: Sequence[str]) -> None:
        """Adds the hooks, MCP servers and plugins of the project that have the given hashes to the
        conversation. Raises ConversationError `offer_changed` if one of them has changed since its hash was
        read. Raises ConversationError `plugin_unusable` if one of them cannot be loaded.
        """

    async def pursue_goal(self, wanted: StartGoalRequest) -> None:
        """Sets a goal for the agent. The agent then works until a judge (a model) finds that the goal is
        reached. Raises AlreadyRunningError if the agent is already working.
        """

    async def stop_goal(self) -> None: ...

    async def resume_goal(self) -> None:
        """Continues the agent's work on a stopped goal. Raises NoGoalToResumeError if there is no stopped
        goal. Raises AlreadyRunningError if the agent is already working.
        """

    async def answer_client_tool(self, answer: ClientToolAnswer) -> None:
        """Sends the result of the agent's call of a client tool (a tool that a client executes). Raises
        ClientCallNotWaitingError if no such call waits for a result.
        """

    async def reject(self, reason: str) -> None:
        """Rejects the actions that wait for confirmation. Raises NothingToConfirmError if no action waits."""

    async def fork(self, wanted: ForkRequest) -> Self:
        """Creates a copy of the conversation and returns a link to the copy. The link is not open yet. Raises
        EventNotFoundError if the event at which the copy must end does not exist.
        """

    async def final_response(self) -> str: ...
