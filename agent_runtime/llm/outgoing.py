"""Converts chat messages to the form that one model accepts. Content that the model does not support is left
out.
"""

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from agent_runtime.llm.call_ids import limit_of
from agent_runtime.llm.capabilities import Capabilities, capabilities
from agent_runtime.llm.config import LLM
from agent_runtime.llm.messages import IMAGE_MARK
from agent_runtime.llm.vendor_state import restored

ChatMessage = dict[str, Any]
Change = tuple[bytes, Callable[[ChatMessage], ChatMessage]]
"""A pair that describes a change of messages: a text, and a function that returns the changed message. The
change is needed only by messages whose JSON contains the text.
"""

UNSEEN_IMAGE = "[An image was left out here: this model cannot see images.]"

_INPUT = {"user", "tool"}
_CACHE_CONTROL = {"type": "ephemeral"}
_RESPONSES_MARK = b'"responses_'
_THINKING_MARK = b'"thinking_blocks"'
_REASONING_MARK = b'"reasoning'
_STATE_MARK = b'"vendor_state"'
_CALL_MARK = b'"tool_call'
_CALLS_MARK = b'"tool_calls"'
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
# Models that want their reasoning back refuse an assistant's call without reasoning. Calls of another model
# have none, so they get this text.
_NO_REASONING = " "


def outgoing(messages: Sequence[bytes], llm: LLM) -> list[bytes]:
    """Returns the chat messages in the form that this model accepts in a chat completion request. Messages
    that need no change are not decoded, which saves time in long conversations.
    """
    can = capabilities(llm)
    everything = b"".join(messages)
    # The list is nearly always empty. Then the messages are not searched one by one.
    found = [(mark, change) for mark, change in _changes(llm, can, everything) if mark in everything]
    fitted = [_fit(message, found) for message in messages] if found else list(messages)
    if not can.marks_cache:
        return fitted
    return _with_cache_marks(fitted, in_results=llm.model.lower().startswith("openrouter/"))


def without_images(message: ChatMessage) -> ChatMessage:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts = [_seen(part) for part in content]
    return {**message, "content": "\n".join(str(part.get("text", "")) for part in parts)}


def _seen(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": UNSEEN_IMAGE} if part.get("type") == "image_url" else part


def _fit(message: bytes, unwanted: Sequence[Change]) -> bytes:
    changes = [change for mark, change in unwanted if mark in message]
    if not changes:
        return message
    decoded = orjson.loads(message)
    for change in changes:
        decoded = change(decoded)
    return orjson.dumps(decoded)


def _changes(llm: LLM, can: Capabilities, everything: bytes) -> list[Change]:
    found: list[Change] = [
        (_STATE_MARK, lambda message: restored(message, llm.model)),
        (_RESPONSES_MARK, _without_items),
    ]
    if not can.sees_images:
        found.append((IMAGE_MARK, without_images))
    if not can.keeps_thinking:
        found.append((_THINKING_MARK, lambda message: _without(message, "thinking_blocks")))
    if not can.keeps_reasoning:
        found.append((_REASONING_MARK, lambda message: _without(message, "reasoning_content", "reasoning")))
    else:
        found.append((_CALLS_MARK, _with_some_reasoning))
    limit = limit_of(llm.model_canonical_name or llm.model)
    if limit is not None and not limit.is_met_by(everything):
        found.append((_CALL_MARK, limit.applied))
    return found


def _with_some_reasoning(message: ChatMessage) -> ChatMessage:
    if message["role"] != "assistant" or any(name in message for name in _REASONING):
        return message
    return {**message, "reasoning_content": _NO_REASONING}


def _without_items(message: ChatMessage) -> ChatMessage:
    filtered = _without(message, "responses_reasoning_item")
    if calls := filtered.get("tool_calls"):
        items = ("responses_reasoning_item", "responses_item_id")
        filtered = {**filtered, "tool_calls": [_without(call, *items) for call in calls]}
    return filtered


def _without(message: ChatMessage, *names: str) -> ChatMessage:
    return {name: value for name, value in message.items() if name not in names}


def _with_cache_marks(messages: Sequence[bytes], *, in_results: bool) -> list[bytes]:
    """Returns the messages with cache marks on two messages: the system prompt, and the last message of the
    user or a tool. A mark tells the vendor to cache the prompt up to this message, because the next request
    repeats it.

    `in_results`: where the mark of a tool result is put. True means into the last part of the field
    `content`, where OpenRouter reads it. False means into the message itself, as a field next to `content`,
    where services that translate to Anthropic's protocol read it.
    """
    marked = list(messages)
    for roles, indices in (({"system"}, range(len(messages))), (_INPUT, reversed(range(len(messages))))):
        for index in indices:
            decoded = orjson.loads(marked[index])
            if decoded.get("role") in roles:
                marked[index] = orjson.dumps(_with_cache_mark(decoded, in_results=in_results))
                break
    return marked


def _with_cache_mark(message: ChatMessage, *, in_results: bool) -> ChatMessage:
    if message["role"] == "tool" and not in_results:
        return {**message, "cache_control": _CACHE_CONTROL}
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not parts or (isinstance(content, str) and not content):
        return message
    return {**message, "content": [*parts[:-1], {**parts[-1], "cache_control": _CACHE_CONTROL}]}
