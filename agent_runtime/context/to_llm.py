"""Events as chat messages. The only place where one becomes the other; pure."""

from collections.abc import Sequence
from typing import Any

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.events.message import MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import (
    AgentErrorEvent,
    ObservationEvent,
    ToolResult,
    UserRejectObservation,
)

ChatMessage = dict[str, Any]

_ERROR_PREFIX = "[An error occurred during execution.]"


def system_message(event: SystemPromptEvent) -> ChatMessage:
    return {"role": "system", "content": event.system_prompt.text}


def spoken_message(event: MessageEvent) -> ChatMessage:
    role = event.llm_message.role if event.llm_message.role in {"assistant", "system"} else "user"
    return {"role": role, "content": _content([*event.llm_message.content, *event.extended_content])}


def summary_message(summary: str) -> ChatMessage:
    return {"role": "user", "content": f"What happened so far, in short:\n\n{summary}"}


def assistant_message(actions: Sequence[ActionEvent]) -> ChatMessage:
    """The reply that made these calls. actions: of one reply, in its order, at least one."""
    thought = "\n".join(part.text for part in actions[0].thought)
    return {
        "role": "assistant",
        "content": thought or None,
        "tool_calls": [_call(event) for event in actions],
    }


def result_messages(action: ActionEvent, result: ToolResult) -> list[ChatMessage]:
    """The tool message, and a user message for its images: tool messages carry only text everywhere."""
    text, images = _result(result)
    answer = {"role": "tool", "tool_call_id": action.tool_call_id, "name": action.tool_name, "content": text}
    if not images:
        return [answer]
    return [answer, {"role": "user", "content": _content(images)}]


def _call(event: ActionEvent) -> ChatMessage:
    function = {"name": event.tool_call.name, "arguments": event.tool_call.arguments}
    return {"id": event.tool_call_id, "type": "function", "function": function}


def _result(result: ToolResult) -> tuple[str, list[ImageContent]]:
    match result:
        case ObservationEvent():
            return _observation(result.observation)
        case AgentErrorEvent():
            return result.error, []
        case UserRejectObservation():
            return f"Action rejected: {result.rejection_reason}", []


def _observation(observation: dict[str, Any]) -> tuple[str, list[ImageContent]]:
    parts = observation.get("content") or []
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    images = [ImageContent.model_validate(part) for part in parts if part.get("type") == "image"]
    if metadata := observation.get("metadata"):
        texts = [_with_circumstances("\n".join(texts), metadata)]
    if observation.get("is_error"):
        texts.insert(0, _ERROR_PREFIX)
    return "\n".join(texts) or "(no output)", images


def _with_circumstances(output: str, metadata: dict[str, Any]) -> str:
    """A command's output as the model reads it: where it ran and how it ended below what it printed."""
    lines = [f"{metadata.get('prefix') or ''}{output}{metadata.get('suffix') or ''}"]
    if working_dir := metadata.get("working_dir"):
        lines.append(f"[Current working directory: {working_dir}]")
    if interpreter := metadata.get("py_interpreter_path"):
        lines.append(f"[Python interpreter: {interpreter}]")
    if (exit_code := metadata.get("exit_code", -1)) != -1:
        lines.append(f"[Command finished with exit code {exit_code}]")
    return "\n".join(lines)


def _content(parts: Sequence[Content]) -> str | list[ChatMessage]:
    """Plain text where it suffices, since not every vendor takes parts."""
    if all(isinstance(part, TextContent) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextContent))
    return [chat_part for part in parts for chat_part in _chat_parts(part)]


def _chat_parts(part: Content) -> list[ChatMessage]:
    if isinstance(part, TextContent):
        return [{"type": "text", "text": part.text}]
    return [{"type": "image_url", "image_url": {"url": url}} for url in part.image_urls]
