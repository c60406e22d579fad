"""Builds the test calls for a model profile (a saved model with its address, key and options), and determines
from the replies which features work. This module does no I/O.
"""

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

import orjson

from agent_runtime.calls_in_text.instructions import documentation
from agent_runtime.calls_in_text.reading import calls_in
from agent_runtime.catalogue.lookup import facts_of
from agent_runtime.catalogue.parameters import has_cache_key, names_max_completion_tokens, thinking_budget
from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.metering.token_counts import Usage, usage_of
from app_server.settings.models import LLMProfile

TOOL = "report_colour"
COLOUR_IN_IMAGE, COLOUR_IN_TEXT = "red", "blue"
_SIDE = 64
_RED = b"\xff\x00\x00"
# About 5,000 tokens. The longest minimum of a vendor's prompt cache is 4,096.
_LINES = 400


def call_of(profile: LLMProfile, *, with_image: bool, is_native: bool) -> dict[str, Any]:
    """Returns the body of a test call. The call asks the model to call the tool of the test with a colour as
    the argument. The reply shows whether the model can call tools, and whether it can see images.

    `with_image`: True means that an image shows the colour; False means that the text names it. `is_native`:
    True means that the tool is in the body's field `tools`. False means that a system prompt describes the
    tool, as agents do it for models without tool calls.
    """
    seen = "Which colour fills this image?" if with_image else f"The colour is {COLOUR_IN_TEXT}."
    text = {"type": "text", "text": f"{seen} Call the tool {TOOL} with it, and say nothing else."}
    image = {"type": "image_url", "image_url": {"url": _image()}}
    content = [text, image] if with_image else text["text"]
    question = {"role": "user", "content": content}
    described = {"role": "system", "content": documentation([_tool()])}
    return _call_body(profile, [question] if is_native else [described, question], with_tool=is_native)


def cached_call_of(profile: LLMProfile, key: str, *, is_native: bool) -> dict[str, Any]:
    """Returns the body of a test call with a long system prompt. The test sends this call several times, to
    find out whether the vendor reads the prompt from its cache.

    `key`: the text at the beginning of the prompt; with a new text, the prompt is not yet in any cache.
    `is_native`: whether the body offers the tool of the test in its field `tools`; if False, the body has no
    tool.
    """
    lines = (
        f"Line {number}: nothing in this long text matters, it is only read." for number in range(_LINES)
    )
    part: dict[str, Any] = {"type": "text", "text": "\n".join([key, *lines])}
    if facts_of(profile.model).marks_cache:
        part["cache_control"] = {"type": "ephemeral"}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": [part] if "cache_control" in part else part["text"]},
        {"role": "user", "content": "Say OK, and nothing else."},
    ]
    asked = _call_body(profile, messages, with_tool=is_native)
    return asked | ({"prompt_cache_key": key} if has_cache_key(profile.model) else {})


def _call_body(profile: LLMProfile, messages: list[dict[str, Any]], *, with_tool: bool) -> dict[str, Any]:
    options = profile.chosen
    limit = "max_completion_tokens" if names_max_completion_tokens(profile.model) else "max_tokens"
    optional = {
        "reasoning_effort": options.reasoning_effort,
        "temperature": options.temperature,
        "top_p": options.top_p,
        limit: options.max_output_tokens,
    }
    return {
        "messages": messages,
        **({"tools": [_tool()]} if with_tool else {}),
        "stream": True,
        **thinking_budget(profile.model, options.thinking_budget),
        **{name: value for name, value in optional.items() if value is not None},
    }


@dataclass
class Heard:
    """The parsed content of the reply to a test call.

    `reasoning`: whether the reply contains thoughts of the model or counts tokens for them. `pieces`: the
    number of pieces of the stream; 1 for a reply that is not streamed. `colour`: the argument with which the
    model called the test's tool, in lower case; None if the model did not call the tool. `calls_in_text`:
    whether the model wrote the tool call into the text of its reply.
    """

    text: str = ""
    reasoning: bool = False
    colour: str | None = None
    calls_in_text: bool = False
    pieces: int = 0
    usage: Usage = field(default_factory=Usage)


def heard(content: bytes) -> Heard:
    """Parses the whole reply to a test call, streamed or not, and returns its content."""
    found, arguments = Heard(), ""
    is_called = False
    for chunk in _chunks(content):
        found.pieces += 1
        if stated := a_dict(chunk.get("usage")):
            found.usage = usage_of(stated)
        for choice in _dicts(chunk.get("choices"))[:1]:
            said = a_dict(choice.get("delta")) or a_dict(choice.get("message"))
            found.text += said["content"] if isinstance(said.get("content"), str) else ""
            found.reasoning |= bool(said.get("reasoning_content") or said.get("reasoning"))
            for function in (a_dict(call.get("function")) for call in _dicts(said.get("tool_calls"))[:1]):
                is_called |= function.get("name") == TOOL
                arguments += str(function.get("arguments") or "")
    found.reasoning |= found.usage.reasoning_tokens > 0
    if not is_called:
        in_text = [given for _, name, given in calls_in(found.text, [_tool()]) if name == TOOL]
        is_called = found.calls_in_text = bool(in_text)
        arguments = "".join(in_text[:1])
    if is_called:
        found.colour = str(a_dict(_decoded(arguments)).get("colour", "")).lower()
    return found


def _chunks(content: bytes) -> list[dict[str, Any]]:
    lines = [line[5:].strip() for line in content.split(b"\n") if line.startswith(b"data:")]
    return [a_dict(_decoded(each)) for each in lines or [content] if each != b"[DONE]"]


def _decoded(content: bytes | str) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _tool() -> dict[str, Any]:
    colours = {"type": "string", "enum": [COLOUR_IN_IMAGE, "green", COLOUR_IN_TEXT, "yellow"]}
    parameters = {"type": "object", "properties": {"colour": colours}, "required": ["colour"]}
    function = {"name": TOOL, "description": "Reports a colour.", "parameters": parameters}
    return {"type": "function", "function": function}


def _image() -> str:
    """Returns a small red square as a PNG in a `data:` URL."""
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    rows = (b"\0" + _RED * _SIDE) * _SIDE
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    written = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" + written).decode()
