"""Converts a document in the Agent Trajectory Interchange Format, any version 1.x, to events."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import orjson
from pydantic import BaseModel, Field

from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.events.base import Event, JsonObject, now
from agent_runtime.events.content import TextContent
from agent_runtime.events.message import Message, MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import ObservationEvent

FINISH = "finish"


class _Part(BaseModel):
    type: str
    text: str | None = None


Text = str | list[_Part] | None


class _Call(BaseModel):
    tool_call_id: str = Field(min_length=1, max_length=256)
    function_name: str = Field(min_length=1, max_length=256)
    arguments: JsonObject = {}


class _Result(BaseModel):
    source_call_id: str | None = None
    content: Text = None


class _Observation(BaseModel):
    results: list[_Result] = []


class AtifStep(BaseModel):
    source: Literal["system", "user", "agent"]
    message: Text = None
    timestamp: datetime | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    observation: _Observation | None = None


class _Agent(BaseModel):
    name: str
    model_name: str | None = None


class Trajectory(BaseModel):
    schema_version: str = Field(pattern=r"^ATIF-v1\.\d+$")
    agent: _Agent
    steps: list[AtifStep] = Field(min_length=1)


def events_of(trajectory: Trajectory) -> Iterator[Event]:
    """Yields the events of an exported conversation in order. The events have no positions in a log yet.

    Every tool call except `finish` is imported as the call of an MCP tool. Such a call may have any name and
    any arguments, and this server does not know the tools of the program that exported the conversation.
    """
    for number, step in enumerate(trajectory.steps):
        stamp = _timestamp(step.timestamp)
        text = _text(step.message)
        if step.source == "system" and number == 0:
            yield SystemPromptEvent(system_prompt=TextContent(text=text), timestamp=stamp)
        elif step.source == "agent":
            yield from _reply(step, text, stamp, f"imported-{number}")
        else:
            source: Literal["user", "environment"] = "user" if step.source == "user" else "environment"
            yield MessageEvent(source=source, llm_message=Message.of("user", text), timestamp=stamp)


def _reply(step: AtifStep, text: str, stamp: str, response_id: str) -> Iterator[Event]:
    if not step.tool_calls:
        message = Message.of("assistant", text).model_copy(
            update={"reasoning_content": step.reasoning_content}
        )
        yield MessageEvent(source="agent", llm_message=message, llm_response_id=response_id, timestamp=stamp)
        return
    actions = [_action(call, stamp, response_id) for call in step.tool_calls]
    first = {"thought": [TextContent(text=text)] if text else [], "reasoning_content": step.reasoning_content}
    actions[0] = actions[0].model_copy(update=first)
    yield from actions
    results = {one.source_call_id: _text(one.content) for one in (step.observation or _Observation()).results}
    for action in actions:
        if action.tool_call_id in results:
            yield _observation(action, results[action.tool_call_id], stamp)


def _action(call: _Call, stamp: str, response_id: str) -> ActionEvent:
    is_finish = call.function_name == FINISH
    action: dict[str, Any] = (
        {"message": str(call.arguments.get("message", "")), "kind": "FinishAction"}
        if is_finish
        else {"data": call.arguments, "kind": "MCPToolAction"}
    )
    return ActionEvent(
        action=action,
        tool_name=call.function_name,
        tool_call_id=call.tool_call_id,
        tool_call=ToolCall(
            id=call.tool_call_id, name=call.function_name, arguments=orjson.dumps(call.arguments).decode()
        ),
        llm_response_id=response_id,
        timestamp=stamp,
    )


def _observation(action: ActionEvent, text: str, stamp: str) -> ObservationEvent:
    content = {"content": [{"type": "text", "text": text}], "is_error": False}
    kind = (
        {"kind": "FinishObservation"}
        if action.tool_name == FINISH
        else {"tool_name": action.tool_name, "kind": "MCPToolObservation"}
    )
    return ObservationEvent(
        tool_name=action.tool_name,
        tool_call_id=action.tool_call_id,
        observation={**content, **kind},
        action_id=action.id,
        timestamp=stamp,
    )


def _text(given: Text) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    return "\n".join(part.text if part.text is not None else f"[{part.type}]" for part in given)


def _timestamp(moment: datetime | None) -> str:
    if moment is None:
        return now()
    local = moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment
    return local.isoformat(timespec="microseconds")
