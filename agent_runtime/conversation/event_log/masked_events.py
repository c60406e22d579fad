"""Replaces the values of secrets in an event by a mask. Fields that give an event its structure, such as ids
and kinds, stay unchanged.
"""

from typing import Any

from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.base import Event, JsonObject
from agent_runtime.events.content import ImageContent, TextContent
from agent_runtime.events.message import Message
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import AnyEvent, validate_event
from agent_runtime.secrets.masking import Masker

_STRUCTURE = frozenset(
    ("id", "kind", "timestamp", "source", "parent_id", "tool_name", "tool_call_id", "llm_response_id",
     "action_id", "key", "rejection_source", "security_risk", "analyzer", "policy", "forgotten_event_ids")
)  # fmt: skip
_INNER = {"tool_call": ("id", "name", "origin"), "action": ("kind",), "observation": ("kind",)}
# Fixed words that programs read. They are never masked, because they cannot be a secret.
_WORDS = {
    "type": {"text", "image", "thinking", "redacted_thinking"},
    "role": {"user", "system", "assistant", "tool"},
}
_FIELDS = frozenset(
    name for model in (TextContent, ImageContent, Message, ToolCall) for name in model.model_fields
)
# The runtime writes these updates itself. They contain only numbers and fixed words.
_OWN_UPDATES = frozenset({"execution_status", "leaf_event_id", "stats"})


def masked(event: Event, masker: Masker) -> AnyEvent:
    """Returns a copy of the event in which a mask replaces each value of a secret. Values that are encoded or
    quoted are also found and replaced.
    """
    if isinstance(event, ConversationStateUpdateEvent) and event.key in _OWN_UPDATES:
        return event
    body = event.model_dump(mode="json")
    for holder in (body, body.get("llm_message"), body.get("tool_call")):
        if holder:
            _drop_what_cannot_be_masked(holder, masker)
    if isinstance(event, AgentErrorEvent) or (isinstance(event, ActionEvent) and event.action is None):
        _hide_name(body, masker)
    return validate_event(
        {name: value if name in _STRUCTURE else _field(name, value, masker) for name, value in body.items()}
    )


def _drop_what_cannot_be_masked(holder: JsonObject, masker: Masker) -> None:
    """Removes the data of the model's vendor from an event if the data contains a secret. This data is the
    vendor's state (except the model's name) and signed blocks of the model's reasoning. The secret cannot be
    masked inside the data, because the vendor refuses the data after any change. `holder`: a part of the
    event as JSON.
    """
    state = holder.get("vendor_state")
    if state and masker.value(state) != state:
        # The model's name stays, because it tells which vendor the rest of the event belongs to.
        holder["vendor_state"] = {"model": masker.text(state["model"])}
    if blocks := holder.get("thinking_blocks"):
        holder["thinking_blocks"] = [
            one for one in blocks if not _is_signed(one) or masker.value(one, names=_FIELDS) == one
        ]


def _is_signed(block: Any) -> bool:
    return isinstance(block, dict) and ("signature" in block or "data" in block)


def _hide_name(body: JsonObject, masker: Masker) -> None:
    """Replaces the tool's name in a tool call by `unknown` if the name contains a secret. `body`: the event
    as JSON.

    The caller does this only for calls that cannot run or have failed, because the model may have invented
    the tool's name. The usual mask is not used, because the vendor's API would not accept it as a name. The
    vendor gets the call again with each later request.
    """
    for holder, name in ((body, "tool_name"), (body.get("tool_call") or {}, "name")):
        if name in holder and masker.text(holder[name]) != holder[name]:
            holder[name] = "unknown"


def _field(name: str, value: Any, masker: Masker) -> Any:
    hidden = masker.value(value, names=_FIELDS)
    if not isinstance(value, dict):
        return _with_words(hidden, value)
    inner_fields = {one: value[one] for one in _INNER.get(name, ()) if one in value}
    if name == "tool_call":
        inner_fields["arguments"] = masker.json_text(value["arguments"])
    return {**_with_words(hidden, value), **inner_fields}


def _with_words(hidden: Any, original: Any) -> Any:
    if isinstance(original, list):
        return [_with_words(*pair) for pair in zip(hidden, original, strict=True)]
    if not isinstance(original, dict):
        return hidden
    inner = (
        {
            name: _with_words(*pair)
            for name, *pair in zip(hidden, hidden.values(), original.values(), strict=True)
        }
        if len(hidden) == len(original)
        else hidden
    )
    words = {name: original[name] for name in _WORDS if original.get(name) in _WORDS[name]}
    return {**inner, **words}
