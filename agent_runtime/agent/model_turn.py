"""Converts one reply of the model to events."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from agent_runtime.calls_in_text.arguments import object_of
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.base import Event, new_id
from agent_runtime.events.content import TextContent
from agent_runtime.events.errors import ErrorClassification
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.vendor_state import VendorState
from agent_runtime.llm.chat_completions import new_call_id
from agent_runtime.llm.messages import Reply, RequestedCall
from agent_runtime.llm.vendor_state import is_common_id
from agent_runtime.tools.arguments import SECURITY_RISKS, ToolArgumentError, parse_arguments
from agent_runtime.tools.registry import resolve_name
from agent_runtime.tools.tool import AnyTool

MAX_SUMMARY_CHARS = 200
CORRECTABLE = ErrorClassification(kind="agent_action", retryable=True, user_action="retry")

_BROKEN = "The arguments of `{name}` are not a JSON object. Send the call again with valid JSON."
_CUT = (
    "Your reply was cut off at the limit of its length, within the arguments of `{name}`; it was not run. "
    "Do it in smaller parts."
)
_GO_ON = "Your reply was cut off at the limit of its length. Go on where it ended, in shorter replies."
_THOUGHT_TOO_LONG = "You thought up to the limit of a reply's length and said nothing. Think less, then act."
_NUDGE = "Your last reply was empty. Go on with the task, or call `finish` with your report if it is done."


# The form of a tool name that every vendor accepts in a later request.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class ModelTurn:
    """The events that are made from one reply of the model, in log order.

    A reply becomes one message, or tool calls and the errors of calls that cannot run. If a fallback model
    has answered, an event before the others says so. After a text that was cut off, a message tells the model
    to continue. An empty reply becomes only such a message.

    `reply`: the model's reply. `was_empty`: whether the reply had neither text nor tool calls.
    """

    events: tuple[Event, ...]
    reply: Reply
    was_empty: bool = False


def turn_of(
    reply: Reply, tools: Mapping[str, AnyTool], messages: Sequence[bytes], *, item_id: str
) -> ModelTurn:
    """Converts a reply of the model to events. `messages`: the prompt that the model answered; the ids of its
    tool calls are not used again for new calls. `item_id`: the id of the reply's first event.
    """
    notices = _notices(reply)
    if reply.is_empty:
        return ModelTurn(
            (*notices, _nudge(_THOUGHT_TOO_LONG if reply.was_cut else _NUDGE)), reply, was_empty=True
        )
    if not reply.tool_calls:
        # A reply that was cut off is not the end of the work.
        more = [_nudge(_GO_ON)] if reply.was_cut else []
        return ModelTurn((*notices, _message(reply, item_id), *more), reply)
    return ModelTurn((*notices, *_actions(reply, tools, messages, item_id)), reply)


def _nudge(text: str) -> MessageEvent:
    return MessageEvent(source="environment", llm_message=Message.of("user", text))


def _notices(reply: Reply) -> list[Event]:
    """Returns an event that informs people that a fallback model has answered instead of the usual model, and
    why. People then understand why the style of the replies changes. Returns an empty list if the usual model
    has answered.
    """
    if not reply.passed_over or reply.answered_by is None:
        return []
    passed_over = [{"model": p.model, "code": p.code, "detail": p.detail} for p in reply.passed_over]
    fallback = {"model": reply.answered_by.model, "passed_over": passed_over}
    return [ConversationStateUpdateEvent(key="agent_state", value={"llm_fallback": fallback})]


def _message(reply: Reply, item_id: str) -> MessageEvent:
    said = Message(
        role="assistant",
        content=[TextContent(text=reply.text)],
        reasoning_content=reply.reasoning or None,
        thinking_blocks=list(reply.thinking_blocks),
        responses_reasoning_item=reply.reasoning_item,
        vendor_state=_state(reply, is_first=True),
    )
    return MessageEvent(id=item_id, source="agent", llm_message=said, llm_response_id=reply.id)


def _actions(
    reply: Reply, tools: Mapping[str, AnyTool], messages: Sequence[bytes], item_id: str
) -> list[Event]:
    actions: list[Event] = []
    errors: list[Event] = []
    for index, call in enumerate(_until_finish(_with_unique_ids(reply.tool_calls, messages))):
        state = _state(reply, call, is_first=index == 0)
        action, error = _action(call, state, tools, was_cut=reply.was_cut)
        event = ActionEvent(
            id=item_id if index == 0 else new_id(),
            **(_thoughts(reply) if index == 0 else {}),
            responses_reasoning_item=call.reasoning_item,
            llm_response_id=reply.id,
            tool_call_id=call.id,
            **action,
        )
        actions.append(event)
        if error is not None:
            errors.append(_error(event, error))
    return [*actions, *errors]


def _thoughts(reply: Reply) -> dict[str, Any]:
    return {
        "thought": [TextContent(text=reply.text)] if reply.text else [],
        "reasoning_content": reply.reasoning or None,
        "thinking_blocks": list(reply.thinking_blocks),
    }


def _state(reply: Reply, call: RequestedCall | None = None, *, is_first: bool) -> VendorState | None:
    """Returns the vendor's data for one event of a reply. This is data, such as signatures, that the vendor
    added to the reply and expects back in later prompts. Returns None if the event has no such data; then a
    later prompt with the event can be sent to any vendor's model.

    `call`: the tool call of the event; None if the event is a message. `is_first`: whether the event is the
    first one of the reply; the first event also has the data of the whole reply.
    """
    message = reply.vendor_state if is_first else {}
    signed = is_first and (reply.thinking_blocks or reply.reasoning_item or (call and call.reasoning_item))
    of_call = call.vendor_state if call else {}
    if reply.answered_by is None or not (message or signed or of_call or (call and call.item_id)):
        return None
    return VendorState(model=reply.answered_by.model, message=message, call=of_call)


def _with_unique_ids(calls: Sequence[RequestedCall], messages: Sequence[bytes]) -> list[RequestedCall]:
    """Returns the tool calls with unique ids. Each id is unique in this reply and in the whole prompt, and
    has a form that model vendors accept. Calls that are equal in everything, also in the id, are merged into
    one call.
    """
    taken: set[str] = set()
    everything = b"".join(messages)
    different = {(call.id, call.name, call.arguments): call for call in calls}
    apart = []
    for call in different.values():
        is_new = call.id not in taken and not _occurs(call.id, everything)
        taken.add(call.id)
        if not is_new:
            apart.append(replace(call, id=new_call_id()))
        elif is_common_id(call.id):
            apart.append(call)
        else:
            # The vendor's id may contain data that the vendor reads again later, so the id is kept.
            state = {**call.vendor_state, "id": call.id}
            apart.append(replace(call, id=new_call_id(), vendor_state=state))
    return apart


def _occurs(call_id: str, messages: bytes) -> bool:
    return orjson.dumps(call_id) in messages


def _until_finish(calls: Sequence[RequestedCall]) -> list[RequestedCall]:
    """Returns the tool calls up to and including the first call of `finish`. Later calls are dropped."""
    selected: list[RequestedCall] = []
    for call in calls:
        selected.append(call)
        if call.name == "finish":
            break
    return selected


def _action(
    call: RequestedCall, state: VendorState | None, tools: Mapping[str, AnyTool], *, was_cut: bool
) -> tuple[dict[str, Any], str | None]:
    """Returns two values: the fields of the ActionEvent that depend on the tool call, and the reason why the
    call cannot run. The second value is None if the call can run. `state`: the data that the model's vendor
    expects back with this call. `was_cut`: whether the reply ended because it reached its maximum length.
    """
    name = call.name if call.name in tools else resolve_name(call.name)
    arguments = object_of(call.arguments)
    # The stored arguments go back to the vendor with every later request, so they must be valid JSON.
    stored = orjson.dumps(arguments or {}).decode()
    fields = {
        "tool_name": name,
        "tool_call": ToolCall(
            id=call.id,
            name=name if _TOOL_NAME.fullmatch(name) else "unknown",
            arguments=stored,
            responses_item_id=call.item_id,
            origin="responses" if call.item_id else "completion",
            vendor_state=state,
        ),
        "summary": _summary(name, stored, arguments or {}),
        "security_risk": _risk(arguments or {}),
    }
    if name not in tools:
        return fields, f"Tool '{call.name[:MAX_SUMMARY_CHARS]}' not found. Available: {', '.join(tools)}."
    if arguments is None:
        return fields, _CUT.format(name=name) if was_cut else _BROKEN.format(name=name)
    try:
        action = parse_arguments(tools[name], arguments)
    except ToolArgumentError as error:
        return fields, str(error)
    return {**fields, "action": action.to_wire()}, None


def _summary(name: str, stored: str, arguments: Mapping[str, Any]) -> str:
    given = arguments.get("summary")
    text = given if isinstance(given, str) and given.strip() else f"{name}: {stored}"
    return text[:MAX_SUMMARY_CHARS]


def _risk(arguments: Mapping[str, Any]) -> str:
    """Returns the security risk that the model states for its tool call. Returns UNKNOWN if the model states
    no risk, or a word that is not allowed.
    """
    said = arguments.get("security_risk")
    return said if said in SECURITY_RISKS else "UNKNOWN"


def _error(event: ActionEvent, text: str) -> AgentErrorEvent:
    return AgentErrorEvent(
        tool_name=event.tool_name, tool_call_id=event.tool_call_id, error=text, classification=CORRECTABLE
    )
