"""Decides for each vendor which parts of a chat completion get the field `cache_control`. This field, a mark
of Anthropic's prompt cache, tells the vendor which part of a request to cache. This module does no I/O.
"""

from typing import Any, Literal

from agent_runtime.catalogue.facts import Facts
from app_server.llm_gateway.forwarding.fields import Object
from app_server.llm_gateway.forwarding.vendors import Translated, Vendor

Marks = Literal["beside", "inside"] | None
"""Where a vendor reads the cache mark (`cache_control`) of a tool's result. `beside`: in the message, next to
the field `content`. `inside`: in the field `content`, for OpenRouter. None means that the vendor reads no
marks.
"""


def marks_of(vendor: Vendor, facts: Facts, model: str) -> Marks:
    """Returns where a vendor reads the cache mark of a tool's result: `beside` or `inside` the field
    `content` of the message. Returns None if the vendor reads no marks. A cache mark (the field
    `cache_control`) tells the vendor which part of a request to store in its prompt cache.

    `facts`: what the model catalogue (the server's list of known models) says about the model. `model`: the
    model's name in the model profile (the saved model with its options).
    """
    if not isinstance(vendor, Translated) and not facts.marks_cache:
        return None
    return "inside" if model.startswith("openrouter/") else "beside"


def marked(result: dict[str, Any], mark: Object | None, marks: Marks) -> dict[str, Any]:
    """Returns a copy of the message `result` with a cache mark. The mark is the field `cache_control`, which
    tells the vendor which part of the request to store in its prompt cache. Returns `result` itself if `mark`
    or `marks` is None.

    `result`: a message of a chat completion that contains the result of a tool as text. `mark`: the value of
    the field `cache_control`. `marks`: where in the message the vendor reads the mark, as `marks_of` returns
    it.
    """
    if not marks or not mark:
        return result
    if marks == "beside":
        return {**result, "cache_control": mark}
    return {**result, "content": [{"type": "text", "text": result["content"], "cache_control": mark}]}
