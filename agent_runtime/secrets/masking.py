"""Replaces secret values by a mask in texts that are stored, published or logged."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any
from weakref import WeakSet

import orjson

from agent_runtime.secrets.encoded_forms import forms_of
from agent_runtime.secrets.search import Span, open_at, possible_start, spans, unfinished_line
from agent_runtime.secrets.search_patterns import Needles, joined_needles, needles_of
from agent_runtime.secrets.views import starts_of

MASK = "<secret-hidden>"
_MAX_PASSES = 10
_HELD_BYTES = 4096
_HELD_PER_BYTE = 16
_CONTINUES = 0x80
_BETWEEN = b"\n\0\n"


class Masker:
    """An object that replaces the secret values of one conversation by a mask in texts. Values that were
    replaced by newer values are still masked, because the old values may still appear in texts.
    """

    def __init__(self) -> None:
        self._values: set[str] = set()
        self.forms: frozenset[bytes] = frozenset()
        """The secret values in all encodings, such as base64. Each is searched for as one piece of text."""
        self.needles = Needles()
        """The byte strings to search for, in order to find a secret value that appears changed or split in a
        text, for example by line breaks.
        """
        _ALL.add(self)

    def learn(self, values: Iterable[str]) -> None:
        new = set(values) - self._values
        if not new:
            return
        self._values |= new
        # A part of the mask itself cannot be hidden by it.
        found = {form for value in new for form in forms_of(value) if form not in MASK}
        self.forms |= {encoded(form) for form in found}
        long = (needles_of(value) for value in new if value.strip() not in MASK)
        self.needles = joined_needles((self.needles, *long))

    @property
    def values(self) -> AbstractSet[str]:
        return self._values

    def text(self, text: str) -> str:
        """Returns the text with the mask in place of every secret value. A value is also recognized in the
        encodings that the masker searches for, such as base64.
        """
        if not self.forms:
            return text
        return decoded(self._masked(encoded(text)))

    def begin(self, text: str) -> tuple[str, str]:
        """Masks the first part of a text of which the rest has not arrived yet. Returns two texts: the masked
        text that can be shown now, and the unmasked end of the text, which may be the beginning of a secret
        value. The caller puts this end in front of the next piece and calls the method again.
        """
        if not self.forms:
            return text, ""
        data = encoded(text)
        line = max(unfinished_line(data, _merged(self._spans(data))), len(data) - self._held_bytes)
        line = _at_character(data, line)
        known, rest = self._masked(data[:line]), data[line:]
        partly_masked = known + rest
        first = _at_character(partly_masked, max(0, len(partly_masked) - self._held_bytes))
        tail = partly_masked[first:]
        starts = [len(known), *(first + possible_start(tail, form) for form in self.forms)]
        if self.needles.plain:
            starts.append(first + open_at(tail, self.needles))
        cut = _at_character(partly_masked, min(starts))
        return decoded(partly_masked[:cut]), decoded(partly_masked[cut:])

    @property
    def _held_bytes(self) -> int:
        """The maximum number of bytes at the end of an unfinished text that are not shown yet, because a
        secret value may begin in them. Some tools print other characters between the characters of a value,
        so the number is many times the length of the longest value.
        """
        return _HELD_BYTES + _HELD_PER_BYTE * self.needles.longest

    def _masked(self, data: bytes) -> bytes:
        # Repeated, because the texts on both sides of a masked value may form a value again.
        for _ in range(_MAX_PASSES):
            found = _merged(self._spans(data))
            if not found:
                return data
            data = _without(data, found)
        return MASK.encode()  # this text does not occur in outputs: it was made for this

    def _spans(self, data: bytes) -> list[Span]:
        found = [(at, at + len(form)) for form in self.forms for at in starts_of(data, form)]
        if self.needles.plain:
            found += spans(data, self.needles)
        return found

    def value(self, value: Any, *, names: frozenset[str] = frozenset()) -> Any:
        """Returns a copy of decoded JSON in which all texts and all field names are masked. `names`: field
        names that stay unmasked; the values of these fields are still masked.
        """
        match value:
            case str():
                return self.text(value)
            case list() | tuple():
                return [self.value(item, names=names) for item in value]
            case Mapping():
                return {
                    name if name in names else self.text(str(name)): self.value(item, names=names)
                    for name, item in value.items()
                }
            case _:
                return value

    def is_in_json(self, body: bytes) -> bool:
        """Returns whether a JSON document contains a secret value in one of its texts or field names. `body`:
        the document.
        """
        return self.is_in(_texts(orjson.loads(body))) if self.forms else False

    def is_in(self, texts: Iterable[str]) -> bool:
        """Returns whether one of these texts contains a secret value."""
        if not self.forms:
            return False
        # Searches all texts at once. No way of reading continues over the line breaks and null between them.
        return bool(self._spans(_BETWEEN.join(map(encoded, texts))))

    def json_text(self, text: str) -> str:
        """Masks the secrets in a JSON text, such as the arguments of a tool call, and returns the text. The
        result is still valid JSON, because it is sent to the model's vendor again with every later request.
        If masking would make the JSON invalid, returns `{}`. A text that is not JSON is masked like any other
        text.
        """
        try:
            decoded = orjson.loads(text)
        except orjson.JSONDecodeError:
            return self.text(text)
        hidden = self.text(orjson.dumps(self.value(decoded)).decode())
        try:
            orjson.loads(hidden)
        except orjson.JSONDecodeError:
            return "{}"  # the secret contained a part of the JSON syntax
        return hidden


class StreamMask:
    """An object that masks the secrets in a text that arrives in pieces. The method `feed` takes the next
    piece and returns the masked text that can be shown now. If the end of a piece may be the beginning of a
    secret value, this end is held back until the next piece arrives.

    `masker`: a function that returns the current masker; it is called for each piece, because new values may
    have been added.
    """

    def __init__(self, masker: Callable[[], Masker]) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        masker = self._masker()
        shown, self._held = masker.begin(self._held + piece)
        return shown

    def peek(self, piece: str) -> str:
        """Returns the masked text that `feed` would return for this piece, but does not add the piece to the
        stream. Used to show the unfinished last line of a terminal, which may still change.
        """
        return self._masker().begin(self._held + piece)[0]

    def flush(self) -> str:
        """Returns, masked, the last characters that `feed` has not returned yet because a secret value could
        begin in them. Call it once, after the last piece.
        """
        held, self._held = self._held, ""
        return self._masker().text(held)


def mask_everywhere(text: str) -> str:
    """Returns the text with the mask in place of the secret values of all conversations of this process. The
    function is used for texts that do not belong to one conversation, such as log lines.
    """
    for masker in tuple(_ALL):
        text = masker.text(text)
    return text


def everything() -> Masker:
    """Returns one masker for the secret values of all conversations that are now in this process. The masker
    replaces these values in a text by a mask.
    """
    known = tuple(_ALL)
    joined = Masker.__new__(Masker)
    joined.forms = frozenset().union(*(one.forms for one in known))
    joined.needles = joined_needles(tuple(one.needles for one in known))
    return joined


class MaskingFormatter(logging.Formatter):
    """A formatter for Python's logging that masks secret values. A log line consists of the message and the
    fields in `extra`, each with its name.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name is logging's)
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields = "".join(f" {name}={str(value)!r}" for name, value in sorted(extra.items()))
        return f"{super().formatMessage(record)}{fields}"

    def format(self, record: logging.LogRecord) -> str:
        return mask_everywhere(super().format(record))


# The fields that every log record has.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


_ALL: WeakSet[Masker] = WeakSet()


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _merged(found: Sequence[Span]) -> list[Span]:
    """Joins overlapping spans (pairs of start and end offsets) and returns them in ascending order."""
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _without(data: bytes, found: Sequence[Span]) -> bytes:
    """Returns the data with the mask in place of the bytes of each span (start and end offset). A UTF-8
    character is never split.
    """
    pieces: list[bytes] = []
    written = 0
    for start, end in found:
        pieces += [data[written : _at_character(data, start)], MASK.encode()]
        written = _after_character(data, end)
    return b"".join([*pieces, data[written:]])


def _at_character(data: bytes, at: int) -> int:
    while at < len(data) and data[at] & 0xC0 == _CONTINUES:
        at -= 1
    return at


def _after_character(data: bytes, at: int) -> int:
    while at < len(data) and data[at] & 0xC0 == _CONTINUES:
        at += 1
    return at


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
