"""Parses the arguments of a tool call that a model wrote as text. Accepts JSON, and broken JSON that has only
one possible meaning. Has no side effects.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson

from agent_runtime.calls_in_text.surrogates import without_lone_surrogates
from agent_runtime.metering.lenient_numbers import a_dict

MAX_ARGUMENT_CHARS = 1024 * 1024
MAX_REPAIRED_CHARS = 100_000


def object_of(text: str) -> dict[str, Any] | None:
    """Parses the arguments of a tool call, which a model wrote as JSON text, and returns them as a dict.
    Repairs small mistakes in the JSON. Returns an empty dict for an empty text. Returns None if the text is
    too long, is not a JSON object, or could only be repaired by a guess.
    """
    if not text.strip():
        return {}
    if len(text) > MAX_ARGUMENT_CHARS:
        return None
    decoded = _decode(text)
    if isinstance(decoded, str):
        # Some models encode the arguments twice.
        decoded = _decode(decoded)
    if decoded is None:
        decoded = repaired(text)
    return _sendable(decoded) if isinstance(decoded, dict) else None


def repaired(text: str) -> Any:
    """Parses broken JSON that a model wrote, and returns the value. Examples of broken JSON are wrong commas
    or quotes, Python's `True` in place of `true`, a code fence around the JSON, and a missing bracket at the
    end.

    Returns None if the text is too long, is not an object or a list, or could only be repaired by a guess.
    For example, a text that ends inside a value was cut off, and a command that is only half complete must
    not run.
    """
    inner = _unfenced(text.strip())
    if len(inner) > MAX_REPAIRED_CHARS or not inner.startswith(("{", "[")) or _was_cut(inner):
        return None
    # Loaded with the first broken call: most conversations never need it.
    import json_repair

    try:
        repaired_value = json_repair.loads(inner)
        is_faithful = all(_is_written(leaf, inner) for leaf in _texts(repaired_value))
    except (RecursionError, ValueError):
        return None
    return repaired_value if repaired_value and is_faithful else None


def _sendable(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the arguments of a tool call in a form that can be encoded as JSON. Returns None if the
    arguments are nested too deeply to be encoded.
    """
    try:
        orjson.dumps(arguments)
    except TypeError:
        with suppress(TypeError, RecursionError, OverflowError):
            return a_dict(orjson.loads(orjson.dumps(_plain(arguments))))
        return None
    return arguments


def _plain(value: Any) -> Any:
    match value:
        case str():
            return without_lone_surrogates(value)
        case int() if not -(2**63) <= value < 2**64:
            return float(value)
        case dict():
            return {without_lone_surrogates(str(name)): _plain(item) for name, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _decode(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _decode_loosely(text)


def _decode_loosely(text: str) -> Any:
    try:
        # Line breaks within strings are the most common mistake. Their meaning is always clear.
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _unfenced(text: str) -> str:
    if text.startswith("```") and text.endswith("```") and len(text) > 6:
        return text[3:-3].removeprefix("json").strip()
    return text


def _was_cut(text: str) -> bool:
    # A text that ends in a digit may have lost further digits.
    return not text.endswith(('"', "'", "}", "]")) or _ends_within_string(text)


def _ends_within_string(text: str) -> bool:
    is_within = is_escaped = False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif character == "\\":
            is_escaped = is_within
        elif character == '"':
            is_within = not is_within
    return is_within


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, item in value.items():
                yield from _texts(name)
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)


def _is_written(text: str, source: str) -> bool:
    if not text:
        return '""' in source or "''" in source
    return (
        text in source
        or json.dumps(text)[1:-1] in source
        or json.dumps(text, ensure_ascii=False)[1:-1] in source
    )
