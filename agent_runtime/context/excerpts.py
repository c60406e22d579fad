"""Converts chat messages to plain text for a second model, which judges or summarizes the conversation."""

from collections.abc import Iterable
from typing import Any

import orjson


def excerpts(messages: Iterable[bytes], chars: int) -> list[dict[str, str]]:
    """Returns the chat messages as plain text, each as an object with its role and its text. `messages`: the
    chat messages as JSON. If a message has more than `chars` characters, the middle of its text is left out.
    """
    decoded = map(orjson.loads, messages)
    return [{"role": message["role"], "text": shortened(_text(message), chars)} for message in decoded]


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "[image]") for part in content)
    calls = [
        f"[calls {call['function']['name']}: {call['function']['arguments']}]"
        for call in message.get("tool_calls", [])
    ]
    return "\n".join(filter(None, [content, *calls]))


def shortened(text: str, chars: int) -> str:
    """Returns the text. If the text has more than `chars` characters, its middle is left out."""
    if len(text) <= chars:
        return text
    left_out = len(text) - chars
    return f"{text[: chars // 2]}\n[… {left_out} characters left out …]\n{text[-(chars // 2) :]}"
