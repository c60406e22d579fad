"""Takes secret values out of what is stored, published or logged."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from weakref import WeakSet

from agent_runtime.secrets.forms import forms_of

MASK = "<secret-hidden>"
_MAX_PASSES = 10


class Masker:
    """Knows values, also such as have been replaced by now: they may still turn up."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self.forms: tuple[str, ...] = ()
        """Longest first."""
        self._in_json: tuple[str, ...] = ()
        _ALL.add(self)

    def learn(self, values: Iterable[str]) -> None:
        new = set(values) - self._values
        if not new:
            return
        self._values |= new
        found = {form for value in new for form in forms_of(value)}.union(self.forms)
        # A part of the mask itself cannot be hidden by it.
        self.forms = tuple(sorted((form for form in found if form not in MASK), key=len, reverse=True))
        escaped = {json.dumps(form, ensure_ascii=False)[1:-1] for form in self.forms}
        self._in_json = tuple(escaped)

    @property
    def values(self) -> AbstractSet[str]:
        return self._values

    def text(self, text: str) -> str:
        for form in self.forms:
            # Again: what is left on both sides may form the value anew.
            for _ in range(_MAX_PASSES):
                if form not in text:
                    break
                text = text.replace(form, MASK)
        return text

    def value(self, value: Any, *, names: frozenset[str] = frozenset()) -> Any:
        """A copy of decoded JSON with all its texts masked. names: of fields, which are left as they are."""
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

    def is_in_json(self, encoded: bytes) -> bool:
        """Whether JSON holds a value: much faster than to take it apart."""
        if not self._in_json:
            return False
        text = encoded.decode()
        return any(form in text for form in self._in_json)


class StreamMask:
    """Masks a text that comes in pieces: what may be the beginning of a value waits for the next one.

    masker: asked anew for each piece, since values are learnt meanwhile.
    """

    def __init__(self, masker: Callable[[], Masker]) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        masker = self._masker()
        text = masker.text(self._held + piece)
        cut = _possible_start(text, masker.forms)
        self._held = text[cut:]
        return text[:cut]

    def flush(self) -> str:
        """What waits, once nothing follows any more."""
        held, self._held = self._held, ""
        return held


def mask_everywhere(text: str) -> str:
    """With the values of all conversations of this process: for what belongs to none of them."""
    for masker in tuple(_ALL):
        text = masker.text(text)
    return text


def everything() -> Masker:
    """One that knows what all of them know."""
    joined = Masker.__new__(Masker)
    joined.forms = tuple(sorted({f for one in tuple(_ALL) for f in one.forms}, key=len, reverse=True))
    return joined


class MaskingFormatter(logging.Formatter):
    """For the server's own log: the message, then what came in as `extra`, by name."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the name is logging's)
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields = "".join(f" {name}={str(value)!r}" for name, value in sorted(extra.items()))
        return f"{super().formatMessage(record)}{fields}"

    def format(self, record: logging.LogRecord) -> str:
        return mask_everywhere(super().format(record))


# What every record carries by itself.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


_ALL: WeakSet[Masker] = WeakSet()


def _possible_start(text: str, forms: tuple[str, ...]) -> int:
    """Where the earliest proper beginning of a form stands that reaches to the end of the text."""
    earliest = len(text)
    for form in forms:
        at = text.find(form[0], max(0, len(text) - len(form) + 1), earliest)
        while at >= 0:
            if form.startswith(text[at:]):
                earliest = at
                break
            at = text.find(form[0], at + 1, earliest)
    return earliest
