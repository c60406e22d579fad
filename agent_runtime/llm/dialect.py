"""What `openai_http` needs of a protocol that it carries. The modules that speak them are the instances."""

from collections.abc import Callable
from typing import Any, Protocol

from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import PieceKind, Prompt, Reply

OnPiece = Callable[[PieceKind, str], None]


class StreamedReply(Protocol):
    """Puts the chunks of a streamed reply together. is_finished: its end was seen."""

    @property
    def is_finished(self) -> bool: ...

    def add(self, chunk: dict[str, Any]) -> None:
        """One more decoded chunk. What is in no known shape is passed over; raises only LLMError."""

    def build(self) -> Reply: ...


class Dialect(Protocol):
    PATH: str

    def encode(self, llm: LLM, prompt: Prompt, model: str) -> bytes:
        """The request's body. model: as the server calls it."""

    def stream(self, on_piece: OnPiece, /) -> StreamedReply: ...

    def parse(self, decoded: dict[str, Any]) -> Reply:
        """A reply that was not streamed. LLMMalformedReplyError when it is none."""
