"""Decides which parts of a chat completion get the marks of Anthropic's prompt cache (`cache_control`), for
each vendor. This module does no I/O.
"""

from typing import Any, Literal

from agent_runtime.catalogue.facts import Facts
from app_server.llm_gateway.forwarding.fields import Object
from app_server.llm_gateway.forwarding.vendors import Translated, Vendor

Marks = Literal["beside", "inside"] | None
"""Where the mark of a tool's result stands: beside its content, or in it as OpenRouter reads it. None: no
marks are sent.
"""


def marks_of(vendor: Vendor, facts: Facts, model: str) -> Marks:
    """Returns in which parts of a request the vendor reads cache marks (`cache_control`), which say what the
    vendor stores in its prompt cache. `model`: the model's name in the profile.
    """
    if not isinstance(vendor, Translated) and not facts.marks_cache:
        return None
    return "inside" if model.startswith("openrouter/") else "beside"


def marked(result: dict[str, Any], mark: Object | None, marks: Marks) -> dict[str, Any]:
    """Returns `result`, a message of a chat completion with the text result of a tool, with a mark for the
    vendor's prompt cache (`cache_control`). `mark`: the mark; None adds none. `marks`: the form in which the
    vendor reads marks; if empty, none is added.
    """
    if not marks or not mark:
        return result
    if marks == "beside":
        return {**result, "cache_control": mark}
    return {**result, "content": [{"type": "text", "text": result["content"], "cache_control": mark}]}
