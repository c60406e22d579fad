"""Converts events of the log to chat messages for the model. All chat messages are made in this module. Has
no side effects.
"""

from collections.abc import Sequence
from typing import Any

from agent_runtime.context.path_rules import reminder, texts_in
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.events.message import Message, MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import (
    AgentErrorEvent,
    ObservationEvent,
    ToolResult,
    UserRejectObservation,
)
from agent_runtime.events.vendor_state import VendorState
from agent_runtime.tools.tool import is_foreign
from agent_runtime.untrusted_text import marked, marked_failure

ChatMessage = dict[str, Any]

BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 1500

_ERROR_PREFIX = "[An error occurred during execution.]"


def system_message(event: SystemPromptEvent) -> ChatMessage:
    return {"role": "system", "content": event.system_prompt.text}


def spoken_message(event: MessageEvent) -> ChatMessage:
    role = event.llm_message.role if event.llm_message.role in {"assistant", "system"} else "user"
    content = _content([*event.llm_message.content, *event.extended_content])
    state = _state(event.llm_message.vendor_state, "model", "message")
    return {"role": role, "content": content, **_kept_thoughts(event.llm_message), **state}


def summary_message(summary: str) -> ChatMessage:
    return {"role": "user", "content": f"What happened so far, in short:\n\n{summary}"}


def rules_message(rules: Sequence[str]) -> ChatMessage:
    return {"role": "user", "content": reminder(rules)}


def rules_of(result: ToolResult) -> list[str]:
    """Returns the names of the path rules (instructions for certain files) that a tool result contains. When
    a summary replaces the result, these rules stay in the prompt.
    """
    return texts_in(result.extended_content) if isinstance(result, ObservationEvent) else []


def assistant_message(actions: Sequence[ActionEvent]) -> ChatMessage:
    """Converts the tool calls of one reply to the assistant's chat message. `actions`: the tool calls of the
    reply in order, at least one.
    """
    thought = "\n".join(part.text for part in actions[0].thought)
    return {
        "role": "assistant",
        "content": thought or None,
        **_kept_thoughts(actions[0]),
        **_state(actions[0].tool_call.vendor_state, "model", "message"),
        "tool_calls": [_call(event, is_first=index == 0) for index, event in enumerate(actions)],
    }


def result_messages(action: ActionEvent, result: ToolResult) -> list[ChatMessage]:
    """Converts the result of a tool call to chat messages: a tool message, and a user message with the
    result's images. The images are in a separate message because not every vendor accepts images in tool
    messages.
    """
    text, images = _result(result)
    answer = {"role": "tool", "tool_call_id": action.tool_call_id, "name": action.tool_name, "content": text}
    if (state := action.tool_call.vendor_state) and "id" in state.call:
        answer |= _state(state, "model", "call")
    if not images:
        return [answer]
    shown: list[Content] = [*_caption(result), *images]
    return [answer, {"role": "user", "content": _content(shown)}]


def rough_tokens(message: ChatMessage, encoded_bytes: int) -> int:
    """Returns an estimate of the number of tokens in a chat message. `encoded_bytes`: the size of the message
    as JSON. Every image counts as the same number of tokens.
    """
    content = message.get("content")
    images = [p["image_url"]["url"] for p in content if "image_url" in p] if isinstance(content, list) else []
    return (encoded_bytes - sum(map(len, images))) // BYTES_PER_TOKEN + IMAGE_TOKENS * len(images)


def _kept_thoughts(said: ActionEvent | Message) -> ChatMessage:
    """Returns those fields of a chat message that contain the model's reasoning in a reply, such as
    `thinking_blocks`. Some vendors require the reasoning unchanged in later requests. For other vendors, the
    module `llm/outgoing` removes these fields before a request is sent.
    """
    thoughts = {
        "reasoning_content": said.reasoning_content,
        "thinking_blocks": said.thinking_blocks,
        "responses_reasoning_item": said.responses_reasoning_item,
    }
    return {name: value for name, value in thoughts.items() if value}


def _state(state: VendorState | None, *fields: str) -> ChatMessage:
    return {"vendor_state": state.model_dump(include=set(fields))} if state else {}


def _call(event: ActionEvent, *, is_first: bool) -> ChatMessage:
    function = {"name": event.tool_call.name, "arguments": event.tool_call.arguments}
    call: ChatMessage = {"id": event.tool_call_id, "type": "function", "function": function}
    if event.tool_call.responses_item_id:
        call["responses_item_id"] = event.tool_call.responses_item_id
    call |= _state(event.tool_call.vendor_state, "model", "call")
    if event.responses_reasoning_item and not is_first:
        call["responses_reasoning_item"] = event.responses_reasoning_item
    return call


def _result(result: ToolResult) -> tuple[str, list[ImageContent]]:
    match result:
        case ObservationEvent():
            text, images = _observation(result.observation)
            if is_foreign(result.observation):
                text = marked(text, result.tool_name, result.id)
            return "\n\n".join([text, *(part.text for part in result.extended_content)]), images
        case AgentErrorEvent():
            return marked_failure(result.error, result.tool_name, result.id), []
        case UserRejectObservation():
            return f"Action rejected: {result.rejection_reason}", []


def _caption(result: ToolResult) -> list[TextContent]:
    """Returns a text that marks the images of a tool result as untrusted content. This text is needed because
    the images may show instructions to the model. The mark around the result's text does not cover the
    images, because they are in a separate message. Returns an empty list if the tool result contains no
    content from outside, such as a web page.
    """
    if not isinstance(result, ObservationEvent) or not is_foreign(result.observation):
        return []
    return [TextContent(text=marked("The images that follow are part of it.", result.tool_name, result.id))]


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
    """Returns the text that the model gets about a command: its output, then its exit code, the directory in
    which it ran and the path of its Python interpreter.

    `output`: the command's output. `metadata`: the other data about the command. Its fields `prefix` and
    `suffix` are texts to put before and after the output. If `suffix` already names the exit code, no second
    line with the exit code is added.
    """
    suffix = metadata.get("suffix") or ""
    lines = [f"{metadata.get('prefix') or ''}{output}{suffix}"]
    exit_code = metadata.get("exit_code", -1)
    if exit_code != -1 and f"exit code {exit_code}." not in suffix:
        lines.append(f"[Command finished with exit code {exit_code}]")
    where = [
        f"{name}: {metadata[field]}"
        for name, field in (("Directory", "working_dir"), ("Python", "py_interpreter_path"))
        if metadata.get(field)
    ]
    if where:
        lines.append(f"[{'. '.join(where)}]")
    return "\n".join(lines)


def _content(parts: Sequence[Content]) -> str | list[ChatMessage]:
    """Converts the parts of a message to the content of a chat message. Returns a plain text if all parts are
    texts, because not every vendor accepts a list of parts. Otherwise returns a list of parts.
    """
    if all(isinstance(part, TextContent) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextContent))
    return [chat_part for part in parts for chat_part in _chat_parts(part)]


def _chat_parts(part: Content) -> list[ChatMessage]:
    if isinstance(part, TextContent):
        return [{"type": "text", "text": part.text}]
    return [{"type": "image_url", "image_url": {"url": url}} for url in part.image_urls]
