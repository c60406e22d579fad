"""Text functions for the search in a conversation. They extract the searchable text of an event, the words of
this text, and the passage around the searched words.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app_server.events.blobs import EXCERPT_CHARACTERS

MAX_MESSAGE_CHARACTERS = 20_000
"""The number of characters at the beginning of a message that the search looks through. It does not find
words after these characters.
"""

_MAX_CHARACTERS = 40_000
_MAX_DEPTH = 4
_MAX_WORD = 64
_MAX_QUERY_WORDS = 10
_BEFORE, _AFTER = 60, 140
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class PassagePart:
    text: str
    is_match: bool


def text_of(event: Mapping[str, Any]) -> str:
    """Returns the text of an event that the search looks through: messages, tool calls with their arguments,
    tool results, errors and summaries. Returns an empty text for events of other kinds.

    From each string of a tool call and each text of a result, only the first and the last 4,000 characters
    are used. A stored event whose large parts are replaced by references (see blobs.py) still contains these
    characters.
    """
    match event:
        case {"kind": "MessageEvent", "llm_message": {"content": content}}:
            parts = [each[:MAX_MESSAGE_CHARACTERS] for each in content_texts(content)]
        case {"kind": "ActionEvent"}:
            called = [event.get("summary"), event.get("thought"), event.get("action")]
            parts = [_ends(each) for each in _strings(called, _MAX_DEPTH)]
        case {"kind": "ObservationEvent", "observation": {"content": content}}:
            parts = [_ends(each) for each in content_texts(content)]
        case (
            {"kind": "AgentErrorEvent", "error": str(said)}
            | {"kind": "ConversationErrorEvent", "detail": str(said)}
            | {"kind": "UserRejectObservation", "rejection_reason": str(said)}
            | {"kind": "Condensation", "summary": str(said)}
        ):
            parts = [_ends(said)]
        case _:
            return ""
    return "\n".join(parts)[:_MAX_CHARACTERS].strip()


def content_texts(content: Any) -> list[str]:
    """Returns the text of each text part in the content of a message or of a tool result."""
    listed = content if isinstance(content, list) else []
    texts = (part.get("text") for part in listed if isinstance(part, Mapping))
    return [text for text in texts if isinstance(text, str)]


def words_of(text: str) -> set[str]:
    """Returns the set of words in the text, in lower case and without accents."""
    return {word[:_MAX_WORD] for word in _WORD.findall(_folded(text))}


def wanted_words(query: str) -> list[str]:
    """Returns the words of a search query, each once, in lower case and without accents, in the order of the
    query. Returns at most ten words.
    """
    found = dict.fromkeys(word[:_MAX_WORD] for word in _WORD.findall(_folded(query)))
    return list(found)[:_MAX_QUERY_WORDS]


def is_prefix(word: str) -> bool:
    """Returns whether a searched word also finds longer words that begin with it. This is true for every word
    with at least two letters.
    """
    return len(word) > 1


def passage(text: str, wanted: Sequence[str]) -> list[PassagePart]:
    """Returns about 200 characters of the text around the first searched word. The characters are split into
    parts: searched words and other text. `wanted`: the searched words, in lower case and without accents.
    """
    first = next(_matches(text, wanted, 0), None)
    begin = max(0, (first.start() if first else 0) - _BEFORE)
    end = (first.start() if first else 0) + _AFTER
    parts: list[PassagePart] = []
    position = begin
    for match in _matches(text, wanted, first.start() if first else len(text)):
        if match.start() >= end:
            break
        parts.append(PassagePart(text[position : match.start()], is_match=False))
        parts.append(PassagePart(match[0], is_match=True))
        position = match.end()
    parts.append(PassagePart(text[position : max(position, end)], is_match=False))
    return [part for part in parts if part.text]


def _matches(text: str, wanted: Sequence[str], begin: int) -> Iterator[re.Match[str]]:
    if text.isascii():
        yield from _pattern_of(tuple(wanted)).finditer(text, begin)
        return
    exact_words = {word for word in wanted if not is_prefix(word)}
    beginnings = tuple(word for word in wanted if is_prefix(word))
    for match in _WORD.finditer(text, begin):
        word = _folded(match[0])
        if word in exact_words or (beginnings and word.startswith(beginnings)):
            yield match


@lru_cache
def _pattern_of(wanted: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a regular expression that finds the searched words in an ASCII text. This is twice as fast as
    comparing each word of the text.
    """
    words = (rf"{word}[^\W_]*" if is_prefix(word) else rf"{word}(?![^\W_])" for word in wanted)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})", re.IGNORECASE)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in letters if not unicodedata.combining(each))


def _ends(text: str) -> str:
    if len(text) <= 2 * EXCERPT_CHARACTERS:
        return text
    return f"{text[:EXCERPT_CHARACTERS]}\n{text[-EXCERPT_CHARACTERS:]}"


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > 0 and isinstance(value, Mapping):
        for key, each in value.items():
            # Names of the wire, not content.
            if key not in {"kind", "type"}:
                yield from _strings(each, depth - 1)
    elif depth > 0 and isinstance(value, list):
        for each in value:
            yield from _strings(each, depth - 1)
