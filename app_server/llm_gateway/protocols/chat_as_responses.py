"""Converts chat completions to calls of OpenAI's Responses protocol, for models that support no other
protocol. This module does no I/O.

Fields that the Responses protocol does not have are refused, and the error names them. Sampling parameters
(such as `temperature`) that the model refuses are left out without an error, because many programs always
send them. If a program sends back the model's earlier reasoning in its messages, the reasoning is sent to the
vendor again (reasoning_details.py).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agent_runtime.catalogue.facts import Facts
from agent_runtime.metering.lenient_numbers import a_dict
from app_server.core.errors import BadRequest
from app_server.llm_gateway.forwarding import fields
from app_server.llm_gateway.protocols import reasoning_details, responses
from app_server.settings.effective_values import Effective

_SAME = (
    "stream",
    "temperature",
    "top_p",
    "parallel_tool_calls",
    "metadata",
    "user",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
)
_CHANGED = (
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "verbosity",
    "response_format",
    "tools",
    "tool_choice",
)
# Each of these values changes nothing.
_WITHOUT_EFFECT: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logprobs": (False,),
    "modalities": (["text"],),
    "store": (False,),
    "stop": ([],),
    "logit_bias": ({},),
}
_NOT_SENT = frozenset(("model", "stream_options"))


def is_needed(model: Effective) -> bool:
    """Returns whether the model supports the Responses protocol but not chat completions."""
    return model.asks_responses and "chat" not in model.facts.protocols


def as_response(body: Mapping[str, Any], facts: Facts, model: str) -> dict[str, Any]:
    """Converts a chat completion to a call of the Responses protocol, and returns the body of this call. The
    new body tells the vendor to store nothing.

    `body`: the chat completion, which contains only allowed fields. `facts`: what the model catalogue (the
    server's list of known models) says about the model. `model`: the name of the model at the vendor;
    reasoning of other models is left out. Raises BadRequest `model_field_unsupported` for a field that the
    Responses protocol does not have. Raises BadRequest `unknown_model_input` for a message that cannot be
    converted.
    """
    given = {name: value for name, value in body.items() if value is not None and name not in _NOT_SENT}
    for name, value in given.items():
        if name not in _SAME and name not in _CHANGED and value not in _WITHOUT_EFFECT.get(name, ()):
            raise BadRequest(
                f"This model cannot be asked with {name!r}: it speaks only OpenAI's Responses.",
                code="model_field_unsupported",
                fix="Leave the field out, or choose another model for the conversation.",
            )
    copied = {name: given[name] for name in _SAME if name in given and name not in facts.refused}
    limit = given.get("max_completion_tokens") or given.get("max_tokens")
    text = {"verbosity": given.get("verbosity"), "format": _format(given.get("response_format"))}
    optional = {
        "max_output_tokens": limit,
        "reasoning": {"effort": given["reasoning_effort"]} if "reasoning_effort" in given else None,
        "text": {name: value for name, value in text.items() if value is not None} or None,
        "tools": [_tool(a_dict(tool)) for tool in given.get("tools", ())] or None,
        "tool_choice": _choice(given.get("tool_choice")),
    }
    said = {name: value for name, value in optional.items() if value is not None}
    call = {**copied, **said, "input": list(_input(given["messages"], model))}
    call["include"] = reasoning_details.INCLUDED
    fields.check(call, responses.ResponsesFields)
    responses.check_input(call)
    return responses.unstored(call)


def _format(asked: Any) -> dict[str, Any] | None:
    if asked is None:
        return None
    return {"type": asked["type"], **(asked.get("json_schema") or {})}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool["type"] == "custom":
        custom = a_dict(tool.get("custom"))
        grammar = a_dict(a_dict(custom.get("format")).get("grammar"))
        return {"type": "custom", **custom} | ({"format": {"type": "grammar", **grammar}} if grammar else {})
    # If `strict` is missing, Responses makes the schema strict.
    function = {"strict": False, **a_dict(tool.get("function"))}
    return {"type": "function", **{name: value for name, value in function.items() if value is not None}}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    kind = str(choice.get("type"))
    inner = a_dict(choice.get(kind))
    if kind == "allowed_tools":
        return {"type": kind, **inner, "tools": [_choice(tool) for tool in inner.get("tools") or ()]}
    return {"type": kind, **inner}


def _input(messages: Any, model: str) -> Iterator[dict[str, Any]]:
    custom: set[str] = set()
    for message in map(a_dict, messages):
        match message.get("role"):
            case "system" | "developer" | "user" as role:
                yield {"type": "message", "role": role, "content": _parts(message.get("content"))}
            case "assistant":
                for call in map(a_dict, message.get("tool_calls") or ()):
                    if call.get("type") == "custom":
                        custom.add(str(call.get("id")))
                said = list(_reply(message))
                # The vendor refuses reasoning that nothing follows.
                yield from reasoning_details.items(message, model) if said else ()
                yield from said
            case "tool":
                call_id = str(message.get("tool_call_id"))
                kind = "custom_tool_call_output" if call_id in custom else "function_call_output"
                content = message.get("content")
                output = content if isinstance(content, str) else _parts(content)
                yield {"type": kind, "call_id": call_id, "output": output}
            case role:
                raise _unknown(f"messages of the role {str(role)[:100]!r}")


def _reply(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [_part_text(a_dict(part)) for part in content or ()]
    if text := "".join([*texts, str(message.get("refusal") or "")]):
        yield {"type": "message", "role": "assistant", "content": text}
    for call in map(a_dict, message.get("tool_calls") or ()):
        kind = "custom" if call.get("type") == "custom" else "function"
        content_of_call = a_dict(call.get(kind))
        argument = "input" if kind == "custom" else "arguments"
        name = {"name": str(content_of_call.get("name")), argument: str(content_of_call.get(argument) or "")}
        item = "custom_tool_call" if kind == "custom" else "function_call"
        yield {"type": item, "call_id": str(call.get("id")), **name}


def _part_text(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind not in {"text", "refusal"}:
        raise _unknown(f"replies with parts of type {str(kind)[:100]!r}")
    return str(part.get(kind) or "")


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return [_part(a_dict(part)) for part in content or ()]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    match part.get("type"):
        case "text":
            return {"type": "input_text", "text": str(part.get("text") or "")}
        case "image_url":
            image = a_dict(part.get("image_url"))
            return {
                "type": "input_image",
                "image_url": image.get("url"),
                "detail": image.get("detail") or "auto",
            }
        case "file":
            return {"type": "input_file", **a_dict(part.get("file"))}
        case kind:
            raise _unknown(f"parts of type {str(kind)[:100]!r}")


def _unknown(what: str) -> BadRequest:
    return BadRequest(
        f"This model takes no {what}: it speaks only OpenAI's Responses.",
        code="unknown_model_input",
        fix="Send texts, images, files as base64, and calls of your tools with their results.",
    )
