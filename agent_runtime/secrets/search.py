"""Finds secret values that appear in a text in a changed form, for example in a hex dump or split by line
breaks.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent_runtime.secrets.escapes import UNFINISHED, unescaped, unquoted
from agent_runtime.secrets.hex_dumps import OPEN, dumped, line_start, numbers
from agent_runtime.secrets.search_patterns import Needles
from agent_runtime.secrets.views import Squeeze, TextView, replaced, starts_of

Span = tuple[int, int]

# What is searched for in a text: all formats of tools; or base 64 and 32 in lines; or the value as it is.
_COLUMNS, _CODE_ONLY, _PLAIN = "columns", "code", "plain"


class Base(NamedTuple):
    view: TextView
    holds: str


_LONGEST_LINE = 4096
_BLANKS = b" \t\r\n\v\f"
_squeeze_blanks = Squeeze(_BLANKS)
_squeeze_code = Squeeze(_BLANKS + b"\"',\\", bytes.maketrans(b"-_", b"+/"))
_squeeze_hex = Squeeze(_BLANKS + b"\"'`,;:.-%\\xX()[]{}|", bytes.maketrans(b"ABCDEF", b"abcdef"))
_HEX_MARK = re.compile(rb"0[xX](?=[0-9a-fA-F])")
# Line numbers, positions of matches, offsets and signs of a diff: they separate the parts of a value.
_PREFIX = re.compile(
    rb"^(?:[ \t]*\d{1,7}[\t:|] ?|[\w./-]{1,200}[:-]\d{1,7}[:-]|[0-9a-fA-F]{6,16}:?[ \t]+|[+>|-] ?)",
    re.MULTILINE,
)
_CODE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


def spans(data: bytes, needles: Needles) -> Iterator[Span]:
    """Yields the start and end offsets of each secret value that appears in the text in a changed form.
    `data`: the text as bytes. `needles`: the byte strings to search for.
    """
    for base in _bases(TextView(data)):
        for view, wanted, kind in _readings(base, needles):
            for needle in wanted:
                for start in starts_of(view.data, needle):
                    yield from _accepted(view, start, start + len(needle), kind, data)


def open_at(data: bytes, needles: Needles) -> int:
    """Returns the offset up to which the text can be shown now. The text after this offset may be the
    beginning of a secret value whose rest is in the next piece of the text. Returns the length of the text if
    all of it can be shown.

    `data`: the text as bytes. `needles`: the byte strings to search for, which reveal the secret values.
    """
    escape = UNFINISHED.search(data)
    earliest = escape.start() if escape else len(data)
    for text in dict.fromkeys((data, data[:earliest])):
        for base in _bases(TextView(text)):
            cut = _open_line(base)
            if cut < len(base.view.data):
                earliest = min(earliest, base.view.span(cut, cut + 1)[0])
                whole_lines = Base(base.view.until(cut), base.holds)
                earliest = min(earliest, _earliest_start(whole_lines, needles, data))
            earliest = min(earliest, _earliest_start(base, needles, data))
    return earliest


def unfinished_line(data: bytes, found: Sequence[Span]) -> int:
    """Returns the offset up to which the text can be shown now, as far as hex dumps are concerned. `data`:
    the text as bytes. `found`: the start and end offsets of each secret value in the text, in order and
    without overlaps.

    If the last line is unfinished and may become a line of a hex dump, returns the beginning of this line.
    The reason is that the dump could contain a secret. If a secret value begins in an earlier line and
    reaches into the last line, returns the beginning of that earlier line. Otherwise, returns the length of
    the text.
    """
    start = len(data)
    for base in _bases(TextView(data)):
        cut = _open_line(base)
        if cut < len(base.view.data):
            start = min(start, base.view.span(cut, cut + 1)[0])
    for first, last in reversed(found):
        if first < start < last:
            start = line_start(data, first)
    return start


def _open_line(base: Base) -> int:
    """Returns the offset at which the last line of `base` begins, if this line is unfinished and may become a
    line of a hex dump. Otherwise, or if `base` is not searched for hex dumps, returns the length of the text.
    `base`: the text, or a copy of it with decoded escapes.
    """
    data = base.view.data
    if base.holds != _COLUMNS:
        return len(data)
    # No such line is as long as this.
    at = max(0, len(data) - _LONGEST_LINE)
    line = OPEN.search(data, at)
    return line.start() if line else len(data)


def _earliest_start(base: Base, needles: Needles, text: bytes) -> int:
    earliest = len(text)
    for view, wanted, kind in _readings(base, needles):
        for needle in wanted:
            start = possible_start(view.data, needle)
            if start < len(view.data):
                start -= kind == "coded" and start > 0 and view.data[start - 1] in _CODE
                at = view.span(start, start + 1)[0]
                earliest = min(earliest, line_start(text, at) if kind == "dump" else at)
    return earliest


def possible_start(data: bytes, needle: bytes) -> int:
    """Returns the first offset from which all bytes to the end of `data` are a beginning of `needle`. For
    example, returns 2 for the data `xxab` and the needle `abc`. Returns the length of `data` if there is no
    such offset.
    """
    at = data.find(needle[:1], max(0, len(data) - len(needle) + 1))
    while at >= 0:
        if needle.startswith(data[at:]):
            return at
        at = data.find(needle[:1], at + 1)
    return len(data)


def _bases(text: TextView) -> Iterator[Base]:
    """Yields the text itself, and copies of it whose escapes are decoded once, twice or three times. This is
    needed because programs put escaped texts into other escaped texts.

    Each result is a Base. Its field `holds` names the formats to search for in this copy. Copies that were
    decoded more often are searched for fewer formats, because each search takes time.
    """
    yield Base(text, _COLUMNS)
    web = unquoted(text)
    if web is not None:
        yield Base(web, _CODE_ONLY)
        if (again := unquoted(web)) is not None:
            yield Base(again, _PLAIN)
    once = unescaped(text)
    if once is None:
        return
    yield Base(once, _COLUMNS)
    if (web := unquoted(once)) is not None:
        yield Base(web, _PLAIN)
    twice = unescaped(once)
    if twice is not None:
        yield Base(twice, _CODE_ONLY)
        if (thrice := unescaped(twice)) is not None:
            yield Base(thrice, _PLAIN)


def _readings(base: Base, needles: Needles) -> Iterator[tuple[TextView, Sequence[bytes], str]]:
    """Yields the copies of the text in which secrets are searched for. Each is a tuple of three values: the
    copy (a TextView), the byte strings to search for in it, and its kind.

    The kind says what the copy is. `plain`: the text with decoded escapes. `coded`: the text prepared for the
    search for base64 and base32. `spaced`: the text without blanks. `hex`: the text prepared for the search
    for base 16. `dump`: the bytes that a hex dump shows. `numbers`: the bytes in a list of decimal numbers.
    """
    view = base.view
    if view.parent is not None:
        yield view, needles.plain, "plain"
    if base.holds == _PLAIN:
        return
    yield _squeeze_code(view), needles.coded, "coded"
    if base.holds == _CODE_ONLY:
        return
    yield from _squeezed(view, needles)
    if _PREFIX.search(view.data):
        bare = replaced(view, _PREFIX, lambda _: b"")
        yield _squeeze_code(bare), needles.coded, "coded"
        yield from _squeezed(bare, needles)
    for one in dumped(view):
        yield one, needles.plain, "dump"
    yield numbers(view), needles.plain, "numbers"


def _squeezed(base: TextView, needles: Needles) -> Iterator[tuple[TextView, Sequence[bytes], str]]:
    yield _squeeze_blanks(base), needles.spaced, "spaced"
    yield _squeeze_hex(base), needles.hexed, "hex"
    if b"0x" in base.data or b"0X" in base.data:
        yield _squeeze_hex(replaced(base, _HEX_MARK, lambda _: b"")), needles.hexed, "hex"


def _accepted(view: TextView, start: int, end: int, kind: str, data: bytes) -> Iterator[Span]:
    if kind == "coded":
        # A letter at the edge also contains bits of the value.
        start -= start > 0 and view.data[start - 1] in _CODE
        end += end < len(view.data) and view.data[end] in _CODE
    found = view.span(start, end)
    if kind != "spaced" or _is_broken(data[slice(*found)], end - start):
        yield found


def _is_broken(text: bytes, letters: int) -> bool:
    """Returns whether a found text is really a secret value that a program has split, and not an ordinary
    sentence that happens to have the same letters. This is assumed in two cases. First, the text contains a
    line break. Second, it contains so many blanks that there could be one between every two letters.

    `text`: the part of the searched text that is equal to the secret value if blanks are ignored. `letters`:
    the length of the value without blanks.
    """
    return b"\n" in text or len(text) >= 2 * letters - 1
