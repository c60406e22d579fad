"""Defines the interface of the modules that implement OpenAI's protocols (chat completions and Responses).
The module `openai_http` uses this interface.
"""

from collections.abc import Callable
from typing import Any, Protocol

from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import PieceKind, Prompt, Reply

OnPiece = Callable[[PieceKind, str], None]


class StreamedReply(Protocol):
    """An object that builds a model's reply from its streamed chunks. `is_finished`: whether the chunk that
    ends the reply was received.
    """

    @property
    def is_finished(self) -> bool: ...

    def add(self, chunk: dict[str, Any]) -> None:
        """Adds one decoded chunk to the reply. Ignores a chunk of an unknown type. Raises LLMError, and no
        other error, if the chunk reports an error or has content that cannot be used.
        """

    def build(self) -> Reply: ...


class Dialect(Protocol):
    PATH: str

    def encode(self, llm: LLM, prompt: Prompt, model: str) -> bytes:
        """Returns the body of the HTTP request for a prompt. `model`: the model's name at the server."""

    def stream(self, on_piece: OnPiece, /) -> StreamedReply: ...

    def parse(self, decoded: dict[str, Any]) -> Reply:
        """Converts a decoded response body to a Reply. The response was sent as a whole, not as a stream.
        Raises LLMMalformedReplyError if the body is not valid.
        """
