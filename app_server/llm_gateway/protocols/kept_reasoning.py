"""Adds the reasoning of a model to chat completions, and reads it from there. This is needed for models that
support only the Responses protocol. The reasoning is in the field `reasoning_details`, which OpenRouter
introduced. So a program that sends back whole messages also sends back the reasoning. This module does no
I/O.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agent_runtime.metering.lenient_numbers import a_dict

INCLUDED = ["reasoning.encrypted_content"]
"""What a call of Responses asks for, so that nothing has to be stored at the vendor."""

_FORMAT = "openai-responses-v1"


def detail(item: Mapping[str, Any], index: int, model: str) -> dict[str, Any] | None:
    """Converts an output item to an entry of `reasoning_details` with this index. Returns None if the item is
    not encrypted reasoning. `model`: the vendor's model; only this model can read the reasoning.
    """
    encrypted = item.get("encrypted_content")
    if item.get("type") != "reasoning" or not isinstance(encrypted, str):
        return None
    return {
        "type": "reasoning.encrypted",
        "format": _FORMAT,
        "id": item.get("id"),
        "data": encrypted,
        "summary": item.get("summary") or [],
        "model": model,
        "index": index,
    }


def items(message: Mapping[str, Any], model: str) -> Iterator[dict[str, Any]]:
    """Yields the reasoning in the message as input items of a Responses call. The items must come before the
    text of the message.
    """
    for each in map(a_dict, message.get("reasoning_details") or ()):
        if each.get("format") == _FORMAT and each.get("model") == model:
            yield {
                "type": "reasoning",
                "id": each.get("id"),
                "summary": each.get("summary") or [],
                "encrypted_content": each.get("data"),
            }
