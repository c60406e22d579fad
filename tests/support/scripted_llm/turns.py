"""What is asked of the model, and what it does then."""

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
    """What the model does with one request."""

    text: str = ""
    tool_calls: tuple[dict[str, Any], ...] = ()
    reasoning: str = ""
    reasoning_tokens: int = 0
    thinking_blocks: tuple[dict[str, Any], ...] = ()
    encrypted_reasoning: str = ""
    signature: str = ""
    """With what Gemini signs its first call."""
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
        """Lets a held turn answer."""
        assert self.gate is not None, "only a held turn can be released"
        self.gate.set()


def say(text: str, **options: Any) -> Turn:
    """A plain text reply. Options are fields of Turn."""
    return Turn(text=text, **options)


def call(tool: str, *, thought: str = "", call_id: str | None = None, **arguments: Any) -> Turn:
    """A reply with one tool call; `thought` is the text beside it."""
    return Turn(text=thought, tool_calls=(_tool_call(tool, arguments, call_id),))


def calls(*pairs: tuple[str, dict[str, Any] | str], thought: str = "", **options: Any) -> Turn:
    """A reply with several tool calls. Arguments given as a string are sent as they are (also bad JSON)."""
    return Turn(text=thought, tool_calls=tuple(_tool_call(name, a, None) for name, a in pairs), **options)


def fail(status: int, *, error: str = "scripted failure", retry_after: float | None = None) -> Turn:
    """An HTTP error in OpenAI's error shape."""
    headers = () if retry_after is None else (("Retry-After", str(retry_after)),)
    return Turn(status=status, error=error, headers=headers)


def raw(body: bytes) -> Turn:
    """A reply of any bytes, as JSON; as one event of a stream if a stream was asked for."""
    return Turn(body=body)


def hold(turn: Turn) -> Turn:
    """The same turn, kept back until its `release()` is called or the client goes away."""
    return replace(turn, gate=threading.Event())


def hang() -> Turn:
    """Never answers; ends when the client hangs up or the server closes."""
    return hold(Turn())


def cut(turn: Turn, *, after: int) -> Turn:
    """Streams `after` pieces, then drops the connection."""
    return replace(turn, cut_after_pieces=after)


@dataclass(frozen=True)
class Request:
    """One request as it arrived. Header names are lower case."""

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
        """The input of a request for a response."""
        return list(self.body["input"])

    @property
    def tool_names(self) -> list[str]:
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools", [])]

    @property
    def last_text(self) -> str:
        return text_of(self.messages[-1])

    @property
    def bearer(self) -> str | None:
        """The key the caller authenticated with."""
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        return key if scheme == "Bearer" else None


def text_of(message: dict[str, Any]) -> str:
    """The text of a chat message, whether its content is a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _tool_call(tool: str, arguments: dict[str, Any] | str, call_id: str | None) -> dict[str, Any]:
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": tool, "arguments": encoded}
    return {"id": call_id or new_id("call"), "type": "function", "function": function}


def split(text: str, size: int) -> Iterator[str]:
    """The pieces in which a text is streamed."""
    return (text[start : start + size] for start in range(0, len(text), size))
