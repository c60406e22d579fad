"""Chat messages as one model takes them: pure. What it does not understand is not sent and hoped for."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from agent_runtime.llm.capabilities import Capabilities
from agent_runtime.llm.messages import IMAGE_MARK

ChatMessage = dict[str, Any]
Unwanted = tuple[bytes, Callable[[ChatMessage], ChatMessage]]
"""What stands in the JSON of a message that may need a change, and the change."""

UNSEEN_IMAGE = "[An image was left out here: this model cannot see images.]"

_INPUT = {"user", "tool"}
_CACHE_CONTROL = {"type": "ephemeral"}
_RESPONSES_MARK = b'"responses_'
_THINKING_MARK = b'"thinking_blocks"'
_REASONING_MARK = b'"reasoning_content"'


def outgoing(messages: Sequence[bytes], can: Capabilities) -> list[bytes]:
    """The messages of a chat completion. Those that need no change are not decoded: a history is long."""
    everything = b"".join(messages)
    # Nearly always none: then no message is looked at by itself.
    found = [(mark, change) for mark, change in _unwanted(can) if mark in everything]
    fitted = [_fit(message, found) for message in messages] if found else list(messages)
    return _with_cache_marks(fitted) if can.marks_cache else fitted


def without_images(message: ChatMessage) -> ChatMessage:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts = [_seen(part) for part in content]
    return {**message, "content": "\n".join(str(part.get("text", "")) for part in parts)}


def _seen(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": UNSEEN_IMAGE} if part.get("type") == "image_url" else part


def _fit(message: bytes, unwanted: Sequence[Unwanted]) -> bytes:
    changes = [change for mark, change in unwanted if mark in message]
    if not changes:
        return message
    decoded = orjson.loads(message)
    for change in changes:
        decoded = change(decoded)
    return orjson.dumps(decoded)


def _unwanted(can: Capabilities) -> list[Unwanted]:
    found: list[Unwanted] = [(_RESPONSES_MARK, _without_items)]
    if not can.sees_images:
        found.append((IMAGE_MARK, without_images))
    if not can.keeps_thinking:
        found.append((_THINKING_MARK, lambda message: _without(message, "thinking_blocks")))
    if not can.keeps_reasoning:
        found.append((_REASONING_MARK, lambda message: _without(message, "reasoning_content")))
    return found


def _without_items(message: ChatMessage) -> ChatMessage:
    kept = _without(message, "responses_reasoning_item")
    if calls := kept.get("tool_calls"):
        items = ("responses_reasoning_item", "responses_item_id")
        kept = {**kept, "tool_calls": [_without(call, *items) for call in calls]}
    return kept


def _without(message: ChatMessage, *names: str) -> ChatMessage:
    return {name: value for name, value in message.items() if name not in names}


def _with_cache_marks(messages: Sequence[bytes]) -> list[bytes]:
    """Marks the system prompt and the last input: the next call repeats all up to there."""
    marked = list(messages)
    for roles, indices in (({"system"}, range(len(messages))), (_INPUT, reversed(range(len(messages))))):
        for index in indices:
            decoded = orjson.loads(marked[index])
            if decoded.get("role") in roles:
                marked[index] = orjson.dumps(_with_cache_mark(decoded))
                break
    return marked


def _with_cache_mark(message: ChatMessage) -> ChatMessage:
    if message["role"] == "tool":
        # Where the translators to Anthropic's protocol look for it.
        return {**message, "cache_control": _CACHE_CONTROL}
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not parts or (isinstance(content, str) and not content):
        return message
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": _CACHE_CONTROL}]}
