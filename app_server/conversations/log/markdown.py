"""Converts the events of a conversation to Markdown for people."""

import re

import orjson

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.condensation import Condensation
from agent_runtime.events.content import Content, TextContent
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.message import MessageEvent
from agent_runtime.events.observation import (
    AgentErrorEvent,
    ObservationEvent,
    ToolResult,
    UserRejectObservation,
)
from agent_runtime.events.state import InterruptEvent, PauseEvent
from agent_runtime.events.union import AnyEvent
from app_server.conversations.schemas import AppConversation

_SPEAKERS = {"user": "User", "agent": "Agent", "environment": "Slipway", "hook": "Hook"}


def heading_of(conversation: AppConversation) -> str:
    """Returns the first lines of a Markdown export: the title, repository, branch, model and start time of
    the conversation.
    """
    facts = {
        "Repository": conversation.selected_repository,
        "Branch": conversation.selected_branch,
        "Model": conversation.llm_model,
        "Started": f"{conversation.created_at:%Y-%m-%d %H:%M} UTC",
    }
    title = " ".join((conversation.title or "Untitled conversation").split())
    lines = "".join(f"- {name}: {value}\n" for name, value in facts.items() if value)
    return f"# {title}\n\n{lines}\n"


def markdown_of(event: AnyEvent) -> str:
    """Returns an event as a Markdown section with a heading. Returns an empty text for an event without
    content for people, such as a technical status.
    """
    match event:
        case MessageEvent():
            return _section(
                _SPEAKERS.get(event.source, event.source), event, _text(event.llm_message.content)
            )
        case ActionEvent():
            thought = "\n".join(part.text for part in event.thought).strip()
            said = _section("Agent", event, thought) if thought else ""
            return said + _call(event)
        case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
            return _result(_answer(event))
        case _:
            return _note(event)


def _answer(event: ToolResult) -> str:
    match event:
        case ObservationEvent(tool_name="finish"):
            return ""  # it repeats the message of the call
        case ObservationEvent():
            return _observed(event.observation)
        case AgentErrorEvent():
            return event.error
        case _:
            return f"Rejected: {event.rejection_reason}"


def _note(event: AnyEvent) -> str:
    match event:
        case Condensation():
            return _section("Summary of older events", event, event.summary or "")
        case ConversationErrorEvent():
            return _section("Error", event, f"`{event.code}`: {event.detail}")
        case PauseEvent() | InterruptEvent():
            return _section("Stopped", event, "")
        case _:
            return ""


def _section(heading: str, event: AnyEvent, body: str) -> str:
    moment = event.timestamp[:16].replace("T", " ")
    return f"## {heading}\n\n*{moment}*\n\n" + (f"{body.strip()}\n\n" if body.strip() else "")


def _call(event: ActionEvent) -> str:
    name = event.tool_name
    try:
        arguments = orjson.loads(event.tool_call.arguments)
    except orjson.JSONDecodeError:
        return f"**{name}**\n\n{_fenced(event.tool_call.arguments)}"
    if name == "finish" and isinstance(arguments.get("message"), str):
        return _section("Agent", event, arguments["message"])
    command = arguments.get("command")
    if name == "terminal" and isinstance(command, str):
        return f"**{name}**\n\n{_fenced(command, 'sh')}"
    shown = orjson.dumps(arguments, option=orjson.OPT_INDENT_2).decode()
    return f"**{name}**\n\n{_fenced(shown, 'json')}"


def _observed(observation: dict[str, object]) -> str:
    content = observation.get("content")
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part.get("text", "[image]")) for part in content if isinstance(part, dict))


def _result(text: str) -> str:
    if not text.strip():
        return ""
    return f"<details><summary>Result</summary>\n\n{_fenced(text.strip(), 'text')}</details>\n\n"


def _text(content: list[Content]) -> str:
    return "\n\n".join(part.text if isinstance(part, TextContent) else "[image]" for part in content)


def _fenced(text: str, language: str = "") -> str:
    """Returns the text as a Markdown code block. The fence of the code block is longer than any fence inside
    the text.
    """
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n\n"
