"""The interface between `openai_http` and the modules that implement its protocols."""

from collections.abc import Callable
from typing import Any, Protocol

from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import PieceKind, Prompt, Reply

OnPiece = Callable[[PieceKind, str], None]


class StreamedReply(Protocol):
    """Builds a reply from its streamed chunks. `is_finished`: the end of the reply was received."""

    @property
    def is_finished(self) -> bool: ...

    def add(self, chunk: dict[str, Any]) -> None:
        """Adds one decoded chunk. Ignores chunks of an unknown form. Raises only LLMError."""

    def build(self) -> Reply: ...


class Dialect(Protocol):
    PATH: str

    def encode(self, llm: LLM, prompt: Prompt, model: str) -> bytes:
        """Returns the request's body. `model`: the model's name at the server."""

    def stream(self, on_piece: OnPiece, /) -> StreamedReply: ...

    def parse(self, decoded: dict[str, Any]) -> Reply:
        """Returns a reply that was not streamed. Raises LLMMalformedReplyError if it is not valid."""
