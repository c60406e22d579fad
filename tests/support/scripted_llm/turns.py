"""The turns of the scripted model, and the requests that they answer."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_ids = iter(range(1, 1_000_000_000))


def new_id(prefix: str) -> str:
    return f"{prefix}_{next(_ids)}"


@dataclass(frozen=True)
class Turn:
    """A turn: how the model answers one request."""

    text: str = ""
    tool_calls: tuple[dict[str, Any], ...] = ()
    reasoning: str = ""
    reasoning_tokens: int = 0
    thinking_blocks: tuple[dict[str, Any], ...] = ()
    encrypted_reasoning: str = ""
    signature: str = ""
    """The thought signature that Gemini adds to its first tool call."""
    finish_reason: str | None = None
    body: bytes | None = None
    prompt_tokens: int = 100
    completion_tokens: int = 10
    cached_tokens: int = 0
    piece_chars: int = 8
    piece_delay_seconds: float = 0
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    error: str = ""
    cut_after_pieces: int | None = None
    gate: threading.Event | None = None

    def release(self) -> None:
        """Sends the answer of a turn that `hold` keeps back."""
        assert self.gate is not None, "only a held turn can be released"
        self.gate.set()


def say(text: str, **options: Any) -> Turn:
    """Returns a turn with plain text. `options` are fields of Turn."""
    return Turn(text=text, **options)


def call(tool: str, *, thought: str = "", call_id: str | None = None, **arguments: Any) -> Turn:
    """Returns a turn with one tool call. `thought`: the text beside the call. `call_id`: None for a
    new id.
    """
    return Turn(text=thought, tool_calls=(_tool_call(tool, arguments, call_id),))


def calls(*pairs: tuple[str, dict[str, Any] | str], thought: str = "", **options: Any) -> Turn:
    """Returns a turn with several tool calls. Arguments that are a string are sent unchanged, even invalid
    JSON.
    """
    return Turn(text=thought, tool_calls=tuple(_tool_call(name, a, None) for name, a in pairs), **options)


def fail(status: int, *, error: str = "scripted failure", retry_after: float | None = None) -> Turn:
    """Returns a turn that answers with an HTTP error, in OpenAI's format."""
    headers = () if retry_after is None else (("Retry-After", str(retry_after)),)
    return Turn(status=status, error=error, headers=headers)


def raw(body: bytes) -> Turn:
    """Returns a turn that answers with these bytes as a JSON body, or as one event if a stream was
    asked for.
    """
    return Turn(body=body)


def hold(turn: Turn) -> Turn:
    """Returns the turn with its answer kept back until `release()` is called or the client goes away."""
    return replace(turn, gate=threading.Event())


def hang() -> Turn:
    """Returns a turn that never answers. It ends when the client closes the connection or the
    server closes.
    """
    return hold(Turn())


def cut(turn: Turn, *, after: int) -> Turn:
    """Returns the turn, changed so that the connection is dropped after `after` streamed pieces."""
    return replace(turn, cut_after_pieces=after)


@dataclass(frozen=True)
class Request:
    """A received request. Header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream")) or self.route.endswith(("-stream", ":streamGenerateContent"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def items(self) -> list[dict[str, Any]]:
        """The input items of a request to the Responses API."""
        return list(self.body["input"])

    @property
    def tool_names(self) -> list[str]:
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools", [])]

    @property
    def last_text(self) -> str:
        return text_of(self.messages[-1])

    @property
    def bearer(self) -> str | None:
        """The API key in the Authorization header, or None."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" else None


def text_of(message: dict[str, Any]) -> str:
    """Returns the text of a chat message. Its content may be a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _tool_call(tool: str, arguments: dict[str, Any] | str, call_id: str | None) -> dict[str, Any]:
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": tool, "arguments": encoded}
    return {"id": call_id or new_id("call"), "type": "function", "function": function}


def split(text: str, size: int) -> Iterator[str]:
    """Returns the pieces in which a text is streamed."""
    return (text[start : start + size] for start in range(0, len(text), size))
