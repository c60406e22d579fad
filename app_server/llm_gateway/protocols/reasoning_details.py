"""Puts the reasoning of a model into the messages of chat completions, and reads it from messages that a
program sends back. So the model gets its earlier reasoning back in the next call. This is needed for models
that support only OpenAI's Responses protocol, because the vendor does not store the reasoning.

The reasoning is in the field `reasoning_details` of a message. OpenRouter introduced this field. This module
does no I/O.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agent_runtime.metering.lenient_numbers import a_dict

INCLUDED = ["reasoning.encrypted_content"]
"""The value of the field `include` in a call of the Responses protocol. It asks for encrypted reasoning in
the reply, so that the vendor does not have to store the reasoning.
"""

_FORMAT = "openai-responses-v1"


def detail(item: Mapping[str, Any], index: int, model: str) -> dict[str, Any] | None:
    """Converts the reasoning in a reply of the Responses protocol to an entry of the field
    `reasoning_details` of a chat message. Returns None if `item` is not encrypted reasoning.

    `item`: an output item of the reply. `index`: the number that the entry gets. `model`: the vendor's name
    of the model; only this model can read the reasoning.
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
    """Yields the stored reasoning of a chat message as input items for a call of the Responses protocol.
    `model`: the vendor's name of the model that is called. Leaves out the reasoning that another model wrote,
    because a model can read only its own reasoning.
    """
    for each in map(a_dict, message.get("reasoning_details") or ()):
        if each.get("format") == _FORMAT and each.get("model") == model:
            yield {
                "type": "reasoning",
                "id": each.get("id"),
                "summary": each.get("summary") or [],
                "encrypted_content": each.get("data"),
            }
