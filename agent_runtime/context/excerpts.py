"""Converts chat messages to plain text, for a model that judges or summarizes a conversation and does not
continue it.
"""

from collections.abc import Iterable
from typing import Any

import orjson


def excerpts(messages: Iterable[bytes], chars: int) -> list[dict[str, str]]:
    """Returns the role and plain text of each message. The middle of a message with more than `chars`
    characters is left out.
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
    """Returns the text. If it has more than `chars` characters, its middle is left out."""
    if len(text) <= chars:
        return text
    left_out = len(text) - chars
    return f"{text[: chars // 2]}\n[… {left_out} characters left out …]\n{text[-(chars // 2) :]}"
