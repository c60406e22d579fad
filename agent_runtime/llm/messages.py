"""What goes to a model and what comes back, whichever transport carries it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Prompt:
    """One request. `messages` are chat messages, each encoded once as JSON; `tools` are function schemas."""

    messages: Sequence[bytes]
    tools: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class RequestedCall:
    """A tool call as the model wrote it: `arguments` may be anything."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `cost` in dollars when the vendor states it."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True)
class Reply:
    """A complete answer."""

    id: str
    text: str
    reasoning: str
    tool_calls: tuple[RequestedCall, ...]
    usage: Usage

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.tool_calls


PieceKind = Literal["text", "reasoning"]


class StreamListener(Protocol):
    """Hears a reply while it is written. Attempts count from 1; must not raise."""

    def started(self, attempt: int) -> None: ...
    def piece(self, attempt: int, kind: PieceKind, content: str) -> None: ...
    def aborted(self, attempt: int, reason: str) -> None: ...


class Silence:
    """A listener for callers who only want the reply."""

    def started(self, attempt: int) -> None: ...
    def piece(self, attempt: int, kind: PieceKind, content: str) -> None: ...
    def aborted(self, attempt: int, reason: str) -> None: ...
