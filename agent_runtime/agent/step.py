"""One turn of the model: what it sees goes in, the events of its reply come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from agent_runtime.agent.agent import Agent
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.base import Event, new_id
from agent_runtime.events.content import TextContent
from agent_runtime.events.errors import ErrorClassification
from agent_runtime.events.message import Message, MessageEvent
from agent_runtime.events.observation import AgentErrorEvent
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.messages import Prompt, Reply, RequestedCall, StreamListener, Usage
from agent_runtime.tools.registry import resolve_name
from agent_runtime.tools.tool import AnyTool, ToolArgumentError, parse_arguments

MAX_ARGUMENT_CHARS = 1024 * 1024
MAX_SUMMARY_CHARS = 200
CORRECTABLE = ErrorClassification(kind="agent_action", retryable=True, user_action="retry")

_NUDGE = "Your last reply was empty. Go on with the task, or call `finish` with your report if it is done."


@dataclass(frozen=True)
class Turn:
    """The events of one reply, in log order: a message, or calls and the errors of those that cannot run."""

    events: tuple[Event, ...]
    usage: Usage
    was_empty: bool = False


async def step(
    agent: Agent,
    tools: Mapping[str, AnyTool],
    messages: Sequence[bytes],
    client: LLMClient,
    *,
    schemas: Sequence[dict[str, Any]],
    item_id: str,
    listener: StreamListener,
) -> Turn:
    """Asks the model once. LLMError when it cannot be asked.

    schemas: of `tools`, as the model sees them. item_id: the id of the reply's first event.
    """
    prompt = Prompt(messages=messages, tools=schemas)
    reply = await client.complete(agent.llm, prompt, listener)
    if reply.is_empty:
        nudge = MessageEvent(source="environment", llm_message=Message.of("user", _NUDGE))
        return Turn((nudge,), reply.usage, was_empty=True)
    if not reply.tool_calls:
        return Turn((_message(reply, item_id),), reply.usage)
    return Turn(tuple(_actions(reply, tools, item_id)), reply.usage)


def _message(reply: Reply, item_id: str) -> MessageEvent:
    said = Message(
        role="assistant", content=[TextContent(text=reply.text)], reasoning_content=reply.reasoning or None
    )
    return MessageEvent(id=item_id, source="agent", llm_message=said, llm_response_id=reply.id)


def _actions(reply: Reply, tools: Mapping[str, AnyTool], item_id: str) -> list[Event]:
    actions: list[Event] = []
    errors: list[Event] = []
    for index, call in enumerate(_until_finish(reply.tool_calls)):
        action, error = _action(call, tools)
        event = ActionEvent(
            id=item_id if index == 0 else new_id(),
            thought=[TextContent(text=reply.text)] if reply.text and index == 0 else [],
            reasoning_content=(reply.reasoning or None) if index == 0 else None,
            llm_response_id=reply.id,
            tool_call_id=call.id,
            **action,
        )
        actions.append(event)
        if error is not None:
            errors.append(_error(event, error))
    return [*actions, *errors]


def _until_finish(calls: Sequence[RequestedCall]) -> list[RequestedCall]:
    """Nothing is done after `finish`, and a call id that was used twice names one call."""
    kept: dict[str, RequestedCall] = {}
    for call in calls:
        kept.setdefault(call.id, call)
        if call.name == "finish":
            break
    return list(kept.values())


def _action(call: RequestedCall, tools: Mapping[str, AnyTool]) -> tuple[dict[str, Any], str | None]:
    """The fields of the ActionEvent that depend on the call, and what is wrong with it, if anything."""
    name = call.name if call.name in tools else resolve_name(call.name)
    arguments = _decode(call.arguments)
    # What is stored goes back to the vendor with every later request, and must be JSON by then.
    stored = call.arguments if arguments is not None and call.arguments.strip() else "{}"
    fields = {
        "tool_name": name,
        "tool_call": ToolCall(id=call.id, name=name, arguments=stored),
        "summary": _summary(name, stored, arguments or {}),
    }
    if name not in tools:
        return fields, f"Tool '{call.name}' not found. Available: {list(tools)}"
    if arguments is None:
        return (
            fields,
            f"The arguments of `{name}` are not a JSON object. Send the call again with valid JSON.",
        )
    try:
        action = parse_arguments(tools[name], arguments)
    except ToolArgumentError as error:
        return fields, str(error)
    return {**fields, "action": action.to_wire()}, None


def _decode(arguments: str) -> dict[str, Any] | None:
    """The arguments as an object; none written counts as none given. None when they are not an object."""
    if not arguments.strip():
        return {}
    if len(arguments) > MAX_ARGUMENT_CHARS:
        return None
    try:
        decoded = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return None
    return decoded if isinstance(decoded, dict) else None


def _summary(name: str, stored: str, arguments: Mapping[str, Any]) -> str:
    given = arguments.get("summary")
    text = given if isinstance(given, str) and given.strip() else f"{name}: {stored}"
    return text[:MAX_SUMMARY_CHARS]


def _error(event: ActionEvent, text: str) -> AgentErrorEvent:
    return AgentErrorEvent(
        tool_name=event.tool_name, tool_call_id=event.tool_call_id, error=text, classification=CORRECTABLE
    )
