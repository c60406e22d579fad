"""Collects the data that a vendor returns for later requests. The data is sent back to this vendor unchanged,
and to no other vendor.

Examples of the data are the `reasoning_details` of OpenRouter, and the thought signatures of Gemini. The
thought signatures are in the field `extra_content` if Google's own compatible protocol is used, and in the
field `provider_specific_fields` if litellm is used. Other examples are the ids that a vendor gives to tool
calls, and the name of the field in which a server sends the reasoning. This module has no side effects.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from agent_runtime.catalogue.parameters import is_model_of_openai
from agent_runtime.llm.lenient_json import dicts
from agent_runtime.metering.lenient_numbers import a_dict

JsonObject = dict[str, Any]

REASONING_FIELD = "reasoning_field"
"""The name of an entry in the vendor's data about a message. The value of the entry is the name of the field
in which the vendor wrote the reasoning. The entry exists even if the reasoning was empty.
"""

_REASONING_FIELDS = ("reasoning_content", "reasoning")
_DETAILS = "reasoning_details"
_OBJECTS = ("extra_content", "provider_specific_fields")
# litellm repeats these fields in `provider_specific_fields`. They are also fields of the message itself.
_REPEATED = {"thinking_blocks", "citations", "refusal", *_REASONING_FIELDS}
_JOINED = {"reasoning.text": "text", "reasoning.summary": "summary"}
_MAX_DEPTH = 32
# The form of an id that every vendor accepts in a later request.
_COMMON_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
# All models behind such a name are made by one company. Each of these models can read the state of the
# others.
_ONE_MAKER = {"anthropic", "cohere", "cohere_chat", "deepseek", "gemini", "mistral", "moonshot", "xai"}


class Gathered:
    """A collector of the data that a vendor adds to a message or a tool call and needs back in later
    requests, such as signed reasoning. `add` takes a piece of the stream, `state` returns the collected data.
    """

    def __init__(self) -> None:
        self._details: list[JsonObject] = []
        self._objects: dict[str, JsonObject] = {}
        self._reasoning_field: str | None = None

    def add(self, piece: Mapping[str, Any]) -> None:
        for detail in dicts(piece.get(_DETAILS)):
            _add_detail(self._details, detail)
        for name in _OBJECTS:
            for key, value in a_dict(piece.get(name)).items():
                if value is not None and key not in _REPEATED:
                    _add_value(self._objects.setdefault(name, {}), key, value)
        written = (name for name in _REASONING_FIELDS if isinstance(piece.get(name), str))
        self._reasoning_field = self._reasoning_field or next(written, None)

    def state(self) -> JsonObject:
        found: JsonObject = dict(self._objects)
        if self._details:
            found[_DETAILS] = self._details
        if self._reasoning_field:
            found[REASONING_FIELD] = self._reasoning_field
        return found if _can_go_back(found) else {}


def state_in(holder: Mapping[str, Any]) -> JsonObject:
    """Returns the vendor's data that a complete message or tool call contains. `holder`: the message or tool
    call. For the pieces of a streamed reply, use `Gathered` instead.
    """
    gathered = Gathered()
    gathered.add(holder)
    return gathered.state()


def is_common_id(call_id: str) -> bool:
    return bool(_COMMON_ID.fullmatch(call_id))


def is_of_same_vendor(model: str, other: str) -> bool:
    """Returns whether two models have the same vendor, so that data of the vendor from one model can be sent
    to the other model.
    """
    return _vendor(model) == _vendor(other)


def restored(message: JsonObject, model: str) -> JsonObject:
    """Returns the chat message in the form that is sent to `model`. The stored data in the message
    (`vendor_state`) is put back into the vendor's fields if it came from the vendor of `model`. Otherwise it
    is removed, together with other fields that only the other vendor understands.
    """
    state = message.get("vendor_state")
    filtered = {name: value for name, value in message.items() if name != "vendor_state"}
    if calls := filtered.get("tool_calls"):
        filtered["tool_calls"] = [_restored_call(call, model) for call in calls]
    if not state:
        return filtered
    if not is_of_same_vendor(state["model"], model):
        return _without_anothers(filtered, state["model"], model)
    if filtered["role"] == "tool":
        return {**filtered, "tool_call_id": a_dict(state.get("call")).get("id", filtered["tool_call_id"])}
    fields = dict(a_dict(state.get("message")))
    written_as = fields.pop(REASONING_FIELD, None)
    if written_as:
        fields[written_as] = filtered.pop("reasoning_content", "")
    return {**filtered, **fields}


def _restored_call(call: JsonObject, model: str) -> JsonObject:
    state = call.get("vendor_state")
    filtered = {name: value for name, value in call.items() if name != "vendor_state"}
    if not state:
        return filtered
    if is_of_same_vendor(state["model"], model):
        return {**filtered, **a_dict(state.get("call"))}
    items = ("responses_reasoning_item", "responses_item_id")
    return {name: value for name, value in filtered.items() if name not in items}


def _without_anothers(message: JsonObject, made_by: str, model: str) -> JsonObject:
    gone = {"reasoning_content", "responses_reasoning_item"}
    # Claude's signatures are valid at every vendor that serves Claude.
    if not ("claude" in made_by.lower() and "claude" in model.lower()):
        gone.add("thinking_blocks")
    return {name: value for name, value in message.items() if name not in gone}


def _vendor(model: str) -> str:
    prefix, slash, rest = model.lower().partition("/")
    if slash and prefix in _ONE_MAKER:
        return prefix
    if prefix == "openrouter":
        return f"{prefix}/{rest.partition('/')[0]}"
    if prefix in {"openai", "azure"} and is_model_of_openai(model):
        return prefix
    return model.lower()


def _add_detail(details: list[JsonObject], piece: JsonObject) -> None:
    """Adds a streamed piece of the field `reasoning_details` to the list `details`, which collects the pieces
    of this field. A piece becomes a new item of the list, with one exception. If its type is `reasoning.text`
    or `reasoning.summary`, and the last item has the same type and index, its text is appended to the text of
    this item.
    """
    last = details[-1] if details else None
    joined = _JOINED.get(str(piece.get("type")))
    if joined is None or last is None or any(last.get(k) != piece.get(k) for k in ("type", "index")):
        details.append(dict(piece))
        return
    text = f"{last.get(joined) or ''}{piece.get(joined) or ''}"
    last.update({name: value for name, value in piece.items() if value is not None})
    last[joined] = text


def _add_value(holder: JsonObject, key: str, value: Any) -> None:
    before = holder.get(key)
    holder[key] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value


def _can_go_back(state: JsonObject) -> bool:
    """Returns whether the vendor's data can be sent back exactly as the vendor sent it. This is not possible
    if a text contains only one half of a UTF-16 surrogate pair, because such a text cannot be written as
    JSON. It is also not possible if the data has more than _MAX_DEPTH nested levels.
    """
    try:
        orjson.dumps(state)
    except orjson.JSONEncodeError:
        return False
    return _depth_is_at_most(_MAX_DEPTH, state)


def _depth_is_at_most(depth: int, value: Any) -> bool:
    inner: Sequence[Any] = ()
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list):
        inner = value
    return depth > 0 and all(_depth_is_at_most(depth - 1, each) for each in inner)
