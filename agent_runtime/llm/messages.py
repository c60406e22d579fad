"""Defines prompts and replies of models, in a form that is independent of how they are sent.

A chat message here has OpenAI's format, plus the data that other vendors need back. The assistant's messages
can have `thinking_blocks` (Anthropic), `reasoning_content` (DeepSeek, Moonshot …) and
`responses_reasoning_item` (OpenAI's Responses). The items in `tool_calls` can also have
`responses_reasoning_item`. Messages, items in `tool_calls` and tool results can have `vendor_state`: data
that one vendor returned for later requests. `outgoing.py` removes what a model does not support.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_runtime.llm.config import LLM
from agent_runtime.metering.token_counts import Usage

IMAGE_MARK = b'"image_url"'
"""A text that is in the JSON of every chat message with an image. It may also be in other messages; this does
no harm.
"""


@dataclass(frozen=True)
class Prompt:
    """The content of one request to a model. `messages`: the chat messages, each as a JSON text in UTF-8.
    `tools`: the descriptions of the tools that the model may call, each with its name and the JSON schema of
    its parameters.

    `role`: the purpose of the call; routes (rules in the configuration) may choose different models for
    different purposes. `cache_key`: a text that is the same in all requests that begin with the same
    messages. It helps the vendor to reuse its cache. None means that no such text is sent.
    """

    messages: Sequence[bytes]
    tools: Sequence[dict[str, Any]] = ()
    role: str = "agent"
    cache_key: str | None = None


@dataclass(frozen=True)
class RequestedCall:
    """A tool call as the model wrote it. `arguments` may be any text, also invalid JSON.

    `item_id`, `reasoning_item`: only for OpenAI's Responses protocol; None otherwise. `item_id` is the id of
    the call as an item of the response. `reasoning_item` is the model's reasoning before the call, which is
    sent back with the next request. `vendor_state`: the vendor's data about the call, see vendor_state.py.
    """

    id: str
    name: str
    arguments: str
    item_id: str | None = None
    reasoning_item: dict[str, Any] | None = None
    vendor_state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PassedOver:
    """A model that was asked for a reply but gave none, so that another model replied. `code`, `detail`: the
    name and the text of the error.
    """

    model: str
    code: str
    detail: str


@dataclass(frozen=True)
class Reply:
    """A complete reply of a model.

    `thinking_blocks`: parts of the model's reasoning that the vendor has signed; they must be sent back
    unchanged. `reasoning_item`: the reasoning of a reply without tool calls, from the Responses protocol.
    `vendor_state`: data of the vendor about the message, see vendor_state.py. `was_cut`: whether the reply
    ended because it reached its maximum length.

    `LLMClient.complete` sets the last three fields. `answered_by`: the model that replied. `passed_over`: the
    models that were asked before and gave no reply. `context_window`: the size of the model's context in
    tokens.
    """

    id: str
    text: str
    reasoning: str
    tool_calls: tuple[RequestedCall, ...]
    usage: Usage
    thinking_blocks: tuple[dict[str, Any], ...] = ()
    reasoning_item: dict[str, Any] | None = None
    vendor_state: dict[str, Any] = field(default_factory=dict)
    was_cut: bool = False
    answered_by: LLM | None = None
    passed_over: tuple[PassedOver, ...] = ()
    context_window: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.tool_calls


PieceKind = Literal["text", "reasoning"]


@dataclass(frozen=True)
class Retry:
    """The next attempt to get a reply: the reason for the retry, the model to ask (the same or a fallback
    model), and the seconds to wait.
    """

    code: str
    detail: str
    model: str
    wait_seconds: float
    next_attempt: int
    max_attempts: int


class StreamListener(Protocol):
    """The interface of an object that receives the pieces of a reply while the model writes it. The attempts
    to get the reply are numbered from 1. The methods must not raise errors.
    """

    def started(self, attempt: int) -> None: ...
    def piece(self, attempt: int, kind: PieceKind, content: str) -> None: ...
    def aborted(self, attempt: int, reason: str, retry: Retry | None = None) -> None: ...


class Silence:
    """A StreamListener that does nothing, for callers that need only the complete reply."""

    def started(self, attempt: int) -> None: ...
    def piece(self, attempt: int, kind: PieceKind, content: str) -> None: ...
    def aborted(self, attempt: int, reason: str, retry: Retry | None = None) -> None: ...
