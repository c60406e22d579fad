"""Parses replies of the model gpt-oss in the Harmony format, in which special tokens separate reasoning from
text. Has no side effects.

A reply is a list of messages: `<|start|>assistant<|channel|>analysis<|message|>…<|end|>`. The prompt already
contains the first `<|start|>assistant`. A message with a recipient (`to=functions.NAME`) is a tool call,
which the module `other_markups` parses. A token is recognized only where the format allows a token, because a
model may also mention tokens in a text. Source: OpenAI's description of the Harmony response format.
"""

import re
from typing import Literal

ShownKind = Literal["text", "reasoning"]
Piece = tuple[ShownKind, str]

_BEGINNINGS = ("<|channel|>", "<|start|>assistant", "to=functions.")
_TOKEN = re.compile(r"<\|(start|channel|message|end|call|return|constrain)\|>")
_BEGUN_TOKEN = re.compile(r"<(?:\|(?:[a-z]{0,9}\|?)?)?\Z")
_CLOSED = re.compile(r"\A<\|(?:end|call|return)\|>\s*\Z")
_CHANNEL = "<|channel|>"
_RECIPIENT = re.compile(r"\bto=(?!assistant\b)\S")
_NAME = re.compile(r"\s*(?:analysis|commentary|final)?[\s?]*")
_BETWEEN_MESSAGES = "\n\n"
_BEGIN_MESSAGE = ("<|start|>", "<|channel|>")
_ROLES = ("assistant", "functions.")
_REST_OF_HEADER = re.compile(
    r"\s*(?:analysis|commentary|final)\b[^<\n]{0,100}(?:<\|constrain\|>\w*\s*)?<\|message\|>"
)
_MAX_HEADER = 150


class HarmonyText:
    """A parser for one reply of a model in the Harmony format. The parser gets the reply in pieces, and
    returns the reply's text and reasoning without special tokens and tool calls. A reply that does not begin
    like a reply in the Harmony format is returned unchanged.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._is_harmony: bool | None = None
        self._header: str | None = ""
        self._kind: ShownKind | Literal["hidden"] | None = None
        self._is_first = True
        self._written: set[ShownKind] = set()
        self._ready: list[Piece] = []

    def feed(self, piece: str) -> list[Piece]:
        self._pending += piece
        if self._is_harmony is None:
            self._is_harmony = _is_harmony(self._pending)
        if self._is_harmony is None:
            return []
        if not self._is_harmony:
            passed, self._pending = self._pending, ""
            return [("text", passed)] if passed else []
        while token := _TOKEN.search(self._pending):
            counts = self._kind is None or _counts(token[1], self._pending[token.end() :])
            if counts is None:
                break
            self._take(self._pending[: token.start() if counts else token.end()])
            self._pending = self._pending[token.end() :]
            if counts:
                self._at(token[1])
        held = token or _BEGUN_TOKEN.search(self._pending)
        end = held.start() if held else len(self._pending)
        self._take(self._pending[:end])
        self._pending = self._pending[end:]
        return self._taken()

    def flush(self) -> list[Piece]:
        """Returns the last pieces of the reply: the text that `feed` held back because it could be a part of
        a token. Must be called once, at the end of the reply.
        """
        held, self._pending = self._pending, ""
        if not self._is_harmony:
            return [("text", held)] if held else []
        self._take(_CLOSED.sub("", held))
        self._end_message()
        return self._taken()

    def _taken(self) -> list[Piece]:
        ready, self._ready = self._ready, []
        return ready

    def _at(self, token: str) -> None:
        match token:
            case "start":
                self._end_message()
                self._header = ""
            case "channel":
                if self._header is None:
                    self._end_message()
                self._header = f"{self._header or ''}{_CHANNEL}"
            case "message" if self._header is not None:
                self._kind, self._header, self._is_first = _kind_of(self._header), None, True
            case "constrain" if self._header is not None:
                self._header += " "
            case "end" | "call" | "return":
                self._end_message()

    def _take(self, text: str) -> None:
        if self._header is not None:
            self._header += text
            return
        if self._kind is None and text.strip():
            self._kind, self._is_first = "text", True
        if text and self._kind is not None and self._kind != "hidden":
            self._write(self._kind, text)

    def _write(self, kind: ShownKind, text: str) -> None:
        is_later = self._is_first and kind in self._written
        self._ready.append((kind, f"{_BETWEEN_MESSAGES}{text}" if is_later else text))
        self._written.add(kind)
        self._is_first = False

    def _end_message(self) -> None:
        header, self._header, self._kind = self._header, None, None
        if header is None or (kind := _kind_of(header)) == "hidden":
            return
        # The message token is missing, so the text stands behind the name of the channel.
        _, _, behind = header.rpartition(_CHANNEL)
        text = _NAME.sub("", behind, count=1)
        if re.search(r"\W", text.strip()):
            self._is_first = True
            self._write(kind, text)


def split(text: str) -> tuple[str, str]:
    """Returns the text and the reasoning of a complete reply in the Harmony format."""
    harmony = HarmonyText()
    pieces = [*harmony.feed(text), *harmony.flush()]
    said = "".join(piece for kind, piece in pieces if kind == "text")
    return said, "".join(piece for kind, piece in pieces if kind == "reasoning")


def _is_harmony(text: str) -> bool | None:
    """Returns whether a reply is in the Harmony format. `text`: the beginning of the reply. Returns None if
    more of the reply is needed to decide.
    """
    return _begins(text.lstrip(), _BEGINNINGS)


def _counts(token: str, rest: str) -> bool | None:
    """Returns True if a special token inside a message is part of the Harmony format. Returns False if the
    message's text only mentions the token. Returns None if more of the reply is needed to decide. `rest`: the
    text after the token.
    """
    match token:
        case "end" | "call" | "return":
            return _begins(rest.lstrip(), _BEGIN_MESSAGE)
        case "start":
            return _begins(rest, _ROLES)
        case "channel":
            if _REST_OF_HEADER.match(rest):
                return True
            return None if len(rest) < _MAX_HEADER and "\n" not in rest else False
        case _:
            return False


def _begins(text: str, beginnings: tuple[str, ...]) -> bool | None:
    """Returns True if the text begins with one of the `beginnings`, and False if it does not. Returns None if
    more of the text is needed to decide.
    """
    if text.startswith(beginnings):
        return True
    return None if any(one.startswith(text) for one in beginnings) else False


def _kind_of(header: str) -> ShownKind | Literal["hidden"]:
    """Returns what a message with this header contains: `text`, `reasoning` or `hidden`. The kind `hidden`
    means a tool call, or a result of a tool call that the model has invented.
    """
    before, _, channel = header.rpartition(_CHANNEL)
    role = before.partition(_CHANNEL)[0].partition(" ")[0].strip()
    if _RECIPIENT.search(header) or role not in {"", "assistant"}:
        return "hidden"
    return "reasoning" if channel.strip().startswith("analysis") else "text"
