"""Checks the messages of a model call before litellm gets them. Without this check, litellm would send
requests from this server to any address in the messages.

This module does no I/O. Fields that the agent server never sends are refused. If an image is given by its
address, a short text replaces it.
"""

from typing import Any

from app_server.core.errors import BadRequest

UNFETCHED_IMAGE = (
    "[An image was left out here: it was given as an address, which is not fetched for this model.]"
)

_MESSAGE_FIELDS = frozenset(
    {
        "role",
        "content",
        "name",
        "refusal",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "cache_control",
        "reasoning_content",
        "reasoning_details",
        "thinking_blocks",
        "provider_specific_fields",
        "extra_content",
    }
)
_PART_FIELDS = {
    "text": frozenset({"type", "text", "cache_control"}),
    "refusal": frozenset({"type", "refusal"}),
    "thinking": frozenset({"type", "thinking", "signature", "cache_control"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "image_url": frozenset({"type", "image_url", "cache_control"}),
}
_VENDOR_OBJECTS = frozenset({"extra_content", "provider_specific_fields"})
_LISTS_OF_OBJECTS = frozenset({"tool_calls", "thinking_blocks", "reasoning_details"})
_BLOCK_FIELDS = frozenset({"type", "thinking", "signature", "data", "cache_control"})
# The gateway numbers streamed blocks, and programs send what they have received.
_NUMBER = "index"
_CACHE_MARK = "cache_control"
_CALL_FIELDS = frozenset({"id", "type", "index", "function", "cache_control"}) | _VENDOR_OBJECTS
_FUNCTION_FIELDS = frozenset({"name", "arguments", "provider_specific_fields"})
# Other such fields of litellm would be files, and calls of tools that the vendor runs.
STATES_OF_LITELLM = frozenset({"thought_signature", "thought_signatures"})
_IMAGE_FIELDS = frozenset({"url", "detail", "format"})


def without_addresses(messages: list[Any]) -> list[dict[str, Any]]:
    """Returns the messages of a model call. A short text replaces each image that is given by its address, so
    that no server fetches it. Raises BadRequest `unknown_model_field` if a message has a field that is not
    allowed.
    """
    return [_message(message, f"messages.{index}") for index, message in enumerate(messages)]


def without_cache_marks(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns messages or tools without the field `cache_control`, for a vendor that refuses this field."""
    return [
        {
            name: without_cache_marks(value) if name == "content" and isinstance(value, list) else value
            for name, value in each.items()
            if name != _CACHE_MARK
        }
        if isinstance(each, dict)
        else each
        for each in objects
    ]


def _message(message: Any, where: str) -> dict[str, Any]:
    fields = _without_numbers(_object(message, _MESSAGE_FIELDS, where))
    _check_state(fields, where)
    match fields.get("content"):
        case None | str():
            return fields
        case list(parts):
            content = [_part(part, f"{where}.content.{index}") for index, part in enumerate(parts)]
            return {**fields, "content": content}
        case _:
            raise _unknown(f"{where}.content")


def _without_numbers(fields: dict[str, Any]) -> dict[str, Any]:
    blocks = fields.get("thinking_blocks")
    if not isinstance(blocks, list):
        return fields
    plain = [
        {name: value for name, value in block.items() if name != _NUMBER}
        if isinstance(block, dict)
        else block
        for block in blocks
    ]
    return {**fields, "thinking_blocks": plain}


def _check_state(fields: dict[str, Any], where: str) -> None:
    """Checks the fields with which a message returns parts of earlier replies to the vendor, such as tool
    calls and signatures of reasoning. Raises BadRequest `unknown_model_field` if a field is not allowed or
    has a wrong type.

    Fields for a list or an object must have this type or be None. Tool calls, thinking blocks and
    `provider_specific_fields` may contain only known fields. The values in them, such as the text of a
    signature, are not checked. `fields`: the fields of the message. `where`: the position of the message in
    the request body, for the error text.
    """
    _check_vendor_fields(fields, where)
    for name in _LISTS_OF_OBJECTS & fields.keys():
        if fields[name] is not None and not isinstance(fields[name], list):
            raise _unknown(f"{where}.{name}")
    for index, block in enumerate(fields.get("thinking_blocks") or ()):
        _object(block, _BLOCK_FIELDS, f"{where}.thinking_blocks.{index}")
    for index, call in enumerate(fields.get("tool_calls") or ()):
        at = f"{where}.tool_calls.{index}"
        _check_vendor_fields(_object(call, _CALL_FIELDS, at), at)
        _check_vendor_fields(_object(call.get("function"), _FUNCTION_FIELDS, f"{at}.function"), at)


def _check_vendor_fields(holder: dict[str, Any], where: str) -> None:
    for name in _VENDOR_OBJECTS & holder.keys():
        if holder[name] is not None and not isinstance(holder[name], dict):
            raise _unknown(f"{where}.{name}")
    _object(
        holder.get("provider_specific_fields") or {}, STATES_OF_LITELLM, f"{where}.provider_specific_fields"
    )


def _part(part: Any, where: str) -> Any:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in _PART_FIELDS:
        raise _unknown(where)
    fields = _object(part, _PART_FIELDS[kind], where)
    return _image(fields, where) if kind == "image_url" else fields


def _image(part: dict[str, Any], where: str) -> dict[str, Any]:
    image = part.get("image_url")
    url = image if isinstance(image, str) else _object(image, _IMAGE_FIELDS, where).get("url")
    if isinstance(url, str) and url.startswith("data:"):
        return part
    return {"type": "text", "text": UNFETCHED_IMAGE}


def _object(value: Any, known: frozenset[str], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unknown(where)
    for name in value:
        if name not in known:
            raise _unknown(f"{where}.{name[:100]}")
    return value


def _unknown(where: str) -> BadRequest:
    return BadRequest(
        f"The model gateway cannot pass this on to the model's vendor: {where}.", code="unknown_model_field"
    )
