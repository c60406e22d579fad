"""Parses the arguments of tool calls in the notation of the model Gemma 4. Has no side effects.

Example: `{city:<|"|>Paris<|"|>,days:[1,2]}`. Names have no quotes. A string is enclosed in a special token
instead of quotes, so the string needs no escapes. Everything else is JSON.
"""

import json
import re
from typing import Any

_PIECE = re.compile(
    r"\s*(?:<\|\"\|>(?P<text>.*?)<\|\"\|>|(?P<mark>[{}\[\],])|(?P<name>[^,{}\[\]:<]+)(?=:)|(?P<plain>[^,{}\[\]:<]+)"
    r"|(?P<colon>:))",
    re.DOTALL,
)


def object_at(text: str, position: int) -> tuple[dict[str, Any] | None, int]:
    """Parses the object that begins at the index `position` of the text. Returns the object as a dict, and
    the index after the end of the object. If there is no complete object, returns None and the length of the
    text.
    """
    pieces, depth = list[str](), 0
    while piece := _PIECE.match(text, position):
        position = piece.end()
        pieces.append(_as_json(piece))
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(piece["mark"] or "", 0)
        if depth == 0:
            return _decoded("".join(pieces)), position
    return None, len(text)


def _as_json(piece: re.Match[str]) -> str:
    match piece.lastgroup:
        case "text":
            return json.dumps(piece["text"])
        case "name":
            return json.dumps(piece["name"].strip())
        case _:
            return piece[0]


def _decoded(content: str) -> dict[str, Any] | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
