"""What a conversation needs of the place where it runs."""

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
    """The stream of frames broke off. It may be taken up again after the last position."""


class Link(Protocol):
    """One conversation, in this process or on an agent server. Open it, use it from one loop, close it."""

    @property
    def id(self) -> UUID: ...

    @property
    def patience_seconds(self) -> float:
        """For how long a stream that breaks off is taken up again."""

    async def open(self) -> None:
        """Finds the conversation, or creates it. ConversationError."""

    async def close(self) -> None: ...

    def frames(self, after_seq: int) -> AsyncGenerator[bytes | str, None]:
        """A `sync` frame, then everything after a position. LinkLostError; DisconnectedError for good."""

    async def info(self) -> ConversationInfo: ...

    async def last_seq(self) -> int: ...

    async def send(self, message: SendMessageRequest) -> None: ...

    async def start(self) -> None:
        """AlreadyRunningError."""

    async def pause(self) -> None: ...

    async def interrupt(self) -> None: ...

    async def condense(self) -> None:
        """NoCondenserError, NothingToCondenseError."""

    async def ask(self, question: str) -> str: ...

    async def navigate(self, event_id: str | None) -> None:
        """EventNotFoundError, AlreadyRunningError."""

    async def checkpoints(self) -> CheckpointList: ...

    async def diff_checkpoint(self, number: int) -> CheckpointDiff:
        """CheckpointNotFoundError, CheckpointsUnavailableError."""

    async def rewind(self, number: int, wanted: RewindRequest) -> RewindResult:
        """As `conversation.rewind`."""

    async def update(self, *, title: str | None, tags: dict[str, str] | None) -> None: ...

    async def switch_llm(self, llm: LLM) -> None: ...

    async def update_secrets(self, secrets: Mapping[str, str | JsonObject]) -> None: ...

    async def set_confirmation_policy(self, policy: JsonObject) -> None: ...

    async def set_security_analyzer(self, analyzer: JsonObject | None) -> None: ...

    async def load_plugin(self, plugin_ref: str) -> None:
        """ConversationError `plugin_not_found`, `plugin_not_fetched`, `plugin_unusable`."""

    async def consent(self, hashes: Sequence[str]) -> None:
        """ConversationError `offer_changed`, `plugin_unusable`."""

    async def pursue_goal(self, wanted: StartGoalRequest) -> None:
        """AlreadyRunningError."""

    async def stop_goal(self) -> None: ...

    async def resume_goal(self) -> None:
        """NoGoalToResumeError, AlreadyRunningError."""

    async def answer_client_tool(self, answer: ClientToolAnswer) -> None:
        """ClientCallNotWaitingError."""

    async def reject(self, reason: str) -> None:
        """NothingToConfirmError."""

    async def fork(self, wanted: ForkRequest) -> Self:
        """A link to the copy, not open yet. EventNotFoundError."""

    async def final_response(self) -> str: ...
