"""Decodes the bytes that a dump shows, in the format of xxd, od, hexdump and similar tools. This is needed to
find a secret value that was printed as a dump.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from agent_runtime.secrets.views import TextView, joined

# A group that is repeated possessively, such as (?:…)++, begins with a lookahead for all that it needs. So it
# fails before it has read a character, or not at all. CPython before 3.11.5 does not return to the end of the
# last complete repetition if a further one fails after it has read characters (issue 106052 of CPython).
# Debian 12 has 3.11.2.

# What may precede a dump line: the line number of cat -n, grep -n and our own tools, or a sign of a diff.
_NUMBERED = rb"[ \t]*+(?:\d{1,7}[\t:|][ \t]?|[+>|-] ?)?"
_BEGINS = rb"(?:^|(?<=[\"'`>]))"
_WITH_COLON = re.compile(
    _BEGINS + _NUMBERED + rb"[0-9a-fA-F]{6,16}:[ \t]+"
    rb"(?P<shown>(?P<digits>[0-9a-fA-F]++(?:(?= [0-9a-fA-F]) [0-9a-fA-F]++)*+)(?:[ \t]{2}[^\n]*|[ \t]*))$",
    re.MULTILINE,
)
_PLAIN = re.compile(
    _BEGINS + _NUMBERED + rb"(?P<shown>(?P<digits>[0-9a-fA-F]{1,16}+"
    rb"(?:(?=[ \t]{1,4}+[0-9a-fA-F])[ \t]{1,4}+[0-9a-fA-F]{1,16}+)++)"
    rb"(?:[ \t]+[|>][^\n]*)?)[ \t]*\r?$",
    re.MULTILINE,
)
_CELLS = re.compile(
    _BEGINS
    + rb"(?:[0-9a-fA-F]{6,16})?(?P<shown>(?: {3}[^\n]| {2}(?:\\[0abtnvfr]|sp|nl|ht|cr)| [0-3][0-7]{2})+)$",
    re.MULTILINE,
)
_NEXT_NUMBER = rb"(?:(?=[\s,;]{1,8}+\d)[\s,;]{1,8}+\d{1,3}+)"
_NUMBERS = re.compile(rb"(?<![\w.])\d{1,3}+" + _NEXT_NUMBER + rb"{7,}+|"
                      rb"(?<![\w.])\d{1,3}+" + _NEXT_NUMBER + rb"*+[\s,;]{0,8}\Z")  # fmt: skip
_NAMED = {rb"\0": 0, rb"\a": 7, rb"\b": 8, rb"\t": 9, rb"\n": 10, rb"\v": 11, rb"\f": 12, rb"\r": 13,
          b"sp": 32, b"nl": 10, b"ht": 9, b"cr": 13}  # fmt: skip
_CELL_CHARS = 4
_LONGEST_OFFSET = 16
_SHORTEST_OFFSET = 6
_BYTE = 256

OPEN = re.compile(
    rb"(?:\A|(?<=[\n\"'`>]))(?:" + _NUMBERED + rb"(?:(?:[0-9a-fA-F]{1,16}+:?(?:[ \t]+|\Z))?"
    rb"(?:(?=[0-9a-fA-F]{1,16}+[ \t])[0-9a-fA-F]{1,16}+[ \t]{1,4}+)*+[0-9a-fA-F]{0,16}+"
    rb"|[0-9a-fA-F]{6,16}:[^\n]*+|[0-9a-fA-F]{6,16}+ [^\n]*+)"
    rb"|(?:(?=  \S|   \S) {2,3}\S{1,2})++ *+)\Z|\d{1,3}\Z"
)
"""Matches text at the end of an unfinished output that may become a dump line or a number."""

# The bytes of one line, read in one way, and the line's start and end.
_Piece = tuple[bytes, int, int]
_GAP = b"\0"  # no secret holds one


def dumped(base: TextView) -> Iterator[TextView]:
    """Decodes the lines of a text that look like lines of a dump. Yields one TextView per dump format, with
    the bytes of all lines that can be read in this format.

    A TextView can tell where each of its bytes stands in the original text `base`. Here, this position is the
    whole part of the line that shows the bytes. So if a secret is found among the decoded bytes, all these
    parts are masked.
    """
    found: dict[str, list[_Piece]] = defaultdict(list)
    for start, end, readings in _lines(base.data):
        for kind, shown in readings:
            pieces = found[kind]
            # Lines that belong together have one line break between them, and perhaps a number.
            if pieces and base.data.count(b"\n", pieces[-1][2], start) > 1:
                pieces.append((_GAP, start, start))
            pieces.append((shown, start, end))
    yield from (joined(base, pieces) for pieces in found.values())


def numbers(base: TextView) -> TextView:
    """Decodes lists of decimal numbers in a text, such as the output of `print(list(data))`, where each
    number is the value of one byte. Returns a TextView with these bytes.
    """
    return joined(base, _numbers(base.data))


def line_start(data: bytes, at: int) -> int:
    """Returns the offset at which the line that contains the offset `at` begins. Here, a line begins after a
    line break, a quote, a backtick or `>`.

    A line of a dump is recognized only as a whole. So a caller that must not show a part of such a line yet
    holds back the whole line, from this offset on.
    """
    return max(0, *(data.rfind(mark, 0, at) + 1 for mark in (b"\n", b'"', b"'", b"`", b">")))


def _lines(data: bytes) -> Iterator[tuple[int, int, list[tuple[str, bytes]]]]:
    for match in _WITH_COLON.finditer(data):
        yield (
            *match.span("shown"),
            [(f"colon {kind}", shown) for kind, shown in _readings(match["digits"].split())],
        )
    for match in _PLAIN.finditer(data):
        tokens = match["digits"].split()
        readings = [*_readings(tokens)]
        if _SHORTEST_OFFSET <= len(tokens[0]) <= _LONGEST_OFFSET:
            readings += [(f"offset {kind}", shown) for kind, shown in _readings(tokens[1:])]
        yield *match.span("shown"), readings
    for match in _CELLS.finditer(data):
        yield *match.span("shown"), [("cells", _of_cells(match["shown"]))]


def _readings(tokens: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yields the bytes that the tokens of a dump line can mean, each with the name of the number format. The
    formats are: hexadecimal in order, hexadecimal with the bytes of each word swapped, bits, octal, decimal.
    """
    size = len(tokens[0])
    digits = b"".join(tokens)
    if any(len(token) != size for token in tokens[:-1]) or len(tokens[-1]) > size:
        size = 0
    if size and size % 2 == 0 and len(digits) % 2 == 0:
        yield "in order", bytes.fromhex(digits.decode())
        if size in {4, 8, 16}:
            yield "swapped", b"".join(bytes.fromhex(token.decode())[::-1] for token in _even(tokens))
    if size == 8 and not digits.strip(b"01"):
        yield "bits", bytes(int(token, 2) for token in tokens)
    if size in {3, 6} and not digits.strip(b"01234567"):
        numbers = [int(token, 8) for token in tokens]
        if max(numbers) < _BYTE ** (size // 3):
            yield f"octal {size}", b"".join(number.to_bytes(size // 3, "little") for number in numbers)
    if max(map(len, tokens)) <= 3 and digits.isdigit():
        yield "decimal", bytes(min(int(token), _BYTE - 1) for token in tokens)


def _even(tokens: Sequence[bytes]) -> Iterator[bytes]:
    return (token for token in tokens if len(token) % 2 == 0)


def _of_cells(shown: bytes) -> bytes:
    """Returns the bytes that a line of the output of `od -c` shows. In this format, each byte takes four
    columns.
    """
    cells = (shown[at : at + _CELL_CHARS] for at in range(0, len(shown), _CELL_CHARS))
    return bytes(map(_of_cell, cells))


def _of_cell(cell: bytes) -> int:
    text = cell.strip()
    if text in _NAMED:
        return _NAMED[text]
    return cell[-1] if len(text) <= 1 else int(text, 8)


def _numbers(data: bytes) -> Iterator[_Piece]:
    for run in _NUMBERS.finditer(data):
        yield _GAP, run.start(), run.start()
        for token in re.finditer(rb"\d+", run[0]):
            number = min(int(token[0]), _BYTE - 1)
            yield bytes((number,)), run.start() + token.start(), run.start() + token.end()
