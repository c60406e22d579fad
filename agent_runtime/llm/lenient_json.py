"""Reads values in JSON from a model's server. The values are not trusted: a value of an unexpected type
counts as empty. Only `decode` raises an error.
"""

import json
from collections.abc import Callable
from typing import Any

import orjson

from agent_runtime.calls_in_text.surrogates import without_lone_surrogates
from agent_runtime.llm.errors import LLMMalformedReplyError


def decode(data: bytes | str) -> dict[str, Any]:
    """Returns the decoded JSON object. Raises LLMMalformedReplyError if the data is not a JSON object."""
    try:
        decoded = orjson.loads(data)
    except orjson.JSONDecodeError:
        decoded = _decode_loosely(data)
    if not isinstance(decoded, dict):
        raise LLMMalformedReplyError("The model's server sent JSON that is not an object.")
    return decoded


def a_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in a_list(value) if isinstance(item, dict)]


def a_text(value: Any) -> str:
    """Returns the value if it is a text, otherwise an empty text. Also accepts a list of parts such as
    `[{"type": "text", "text": …}]`, and returns their joined text.
    """
    if isinstance(value, str):
        return value
    return "".join(a_text(part.get("text")) for part in dicts(value))


def an_id(value: Any) -> str:
    return without_lone_surrogates(str(value)) if isinstance(value, str | int) else ""


def a_json_text(value: Any) -> str:
    """Returns the arguments of a tool call as JSON text. `value`: the arguments as the model's server sent
    them. Some servers send a JSON object, which is then encoded as text.
    """
    if isinstance(value, str):
        return without_lone_surrogates(value)
    return "" if value is None else json.dumps(value)


class TextInPieces:
    """A text that arrives in pieces. The method `add` takes the next piece and immediately calls the function
    `tell` with it. `str()` returns the whole text.

    JSON can write one character as two halves (UTF-16 surrogates). If a piece ends with a first half, `add`
    holds this half back and puts it in front of the next piece.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._pieces: list[str] = []
        self._half = ""

    def add(self, piece: str) -> None:
        text = self._half + piece
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        if ready := without_lone_surrogates(text.removesuffix(self._half) if self._half else text):
            self._pieces.append(ready)
            self._tell(ready)

    def __str__(self) -> str:
        return "".join(self._pieces)


def _decode_loosely(data: bytes | str) -> Any:
    # Some servers cut a text in the middle of a surrogate pair. Only Python's own decoder accepts such JSON.
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise LLMMalformedReplyError("The model's server sent something that is not JSON.") from error
