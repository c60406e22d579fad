"""A recorded model, which replaces a real model, for example in `slipway demo`. It gives the same replies
every time, and streams them at the speed of a real model.

It stores no state: the number of model replies in the request determines which recorded reply is next.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, JsonValue

from app_server.core.errors import NotFound

_RECORDINGS = Path(__file__).parent / "recordings"
_WORD = re.compile(r"\S+\s*|\s+")
_PAUSE_SECONDS = 0.015
_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


class ToolCall(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    arguments: dict[str, JsonValue]


class Turn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reasoning: str = ""
    content: str = ""
    tool_calls: list[ToolCall] = []


class Recording(BaseModel):
    """The recorded replies (turns) of a model, in order. In the demo, for example, the app server returns
    these replies and calls no model. `after_end`: the reply to every call after the last turn.
    """

    model_config = ConfigDict(extra="forbid")

    description: str
    turns: list[Turn]
    after_end: str


def replay(name: str, body: dict[str, Any], *, working_dir: str) -> Response:
    """Returns the next reply of a recording (stored replies of a model). The number of messages from the
    model in `body` (the body of a chat completion) determines which reply is the next one: with 0 messages,
    it is the first reply. After the last reply, returns the recording's `after_end`.

    `name`: the name of the recording. `working_dir`: the directory that replaces `{{working_dir}}` in the
    stored reply. Raises NotFound `recording_not_found` if there is no recording with this name.
    """
    recording = load_recording(name)
    index = sum(1 for message in _messages(body) if message.get("role") == "assistant")
    turn = recording.turns[index] if index < len(recording.turns) else Turn(content=recording.after_end)
    message = _message(turn, index, working_dir)
    frame = {"id": f"chatcmpl-recorded-{index}", "created": 0, "model": f"recorded/{name}"}
    if body.get("stream"):
        return StreamingResponse(_stream(frame, message, body), media_type="text/event-stream")
    return Response(orjson.dumps(_completion(frame, message)), media_type="application/json")


@cache
def load_recording(name: str) -> Recording:
    path = _RECORDINGS / f"{name}.json"
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name) or not path.is_file():
        raise NotFound(f"There is no recording named {name!r}.", code="recording_not_found")
    return Recording.model_validate_json(path.read_bytes())


def _messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


def _message(turn: Turn, index: int, working_dir: str) -> dict[str, Any]:
    """Returns a recorded turn (one stored reply of a model) as a message of the assistant. In its texts,
    `{{working_dir}}` is replaced by the conversation's working directory. `index`: the number of the turn,
    which makes the ids of its tool calls unique.
    """

    def filled(value: JsonValue) -> JsonValue:
        match value:
            case str():
                return value.replace("{{working_dir}}", working_dir)
            case list():
                return [filled(item) for item in value]
            case dict():
                return {name: filled(item) for name, item in value.items()}
            case _:
                return value

    message: dict[str, Any] = {"role": "assistant", "content": filled(turn.content)}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "id": f"call_{index}_{number}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": orjson.dumps(filled(dict(call.arguments))).decode(),
                },
            }
            for number, call in enumerate(turn.tool_calls)
        ]
    return message


def _finish_reason(message: dict[str, Any]) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"


def _completion(frame: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(message)}
    return {**frame, "object": "chat.completion", "choices": [choice], "usage": _USAGE}


async def _stream(
    frame: dict[str, Any], message: dict[str, Any], body: dict[str, Any]
) -> AsyncIterator[bytes]:
    chunk = {**frame, "object": "chat.completion.chunk"}
    for delta in _deltas(message):
        yield _event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        await asyncio.sleep(_PAUSE_SECONDS)
    last = {"index": 0, "delta": {}, "finish_reason": _finish_reason(message)}
    yield _event({**chunk, "choices": [last]})
    options = body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        yield _event({**chunk, "choices": [], "usage": _USAGE})
    yield b"data: [DONE]\n\n"


def _deltas(message: dict[str, Any]) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for field in ("reasoning_content", "content"):
        deltas += [{field: word} for word in _WORD.findall(message.get(field, ""))]
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        head = {"index": index, "id": call["id"], "type": "function"}
        deltas.append({"tool_calls": [{**head, "function": {"name": function["name"], "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": word}}]}
            for word in _WORD.findall(function["arguments"])
        ]
    return deltas


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"
