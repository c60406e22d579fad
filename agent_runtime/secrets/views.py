"""Changed copies of a text (views), such as the text without blanks or with decoded escapes. Secret values
are searched for in each view. Each view can map its bytes to offsets in the original text.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import compress

Positions = tuple["array[int]", "array[int]"]
"""Two arrays with one item for each byte of a view (a changed copy of a text). For each byte, the items are
the start and the end offset of its original bytes in the text from which the view was made.
"""
_ALL_BYTES = bytes(range(256))


class TextView:
    """A copy of a text that was decoded or shortened in one way. It can tell where each of its bytes stands
    in the original text. So a secret value that is found in the copy can be masked in the original. `parent`:
    the view from which this view was made; None for the original text.
    """

    def __init__(
        self, data: bytes, parent: "TextView | None" = None, locate: Callable[[], Positions] | None = None
    ) -> None:
        """Stores `data`, the bytes of the decoded or shortened text. `parent`: the view from which this view
        was made; None for the original text.

        `locate`: a function that returns, for each byte of `data`, the start and end offset of the bytes in
        `parent` from which this byte was made. It is called only if a secret is found, because it is slow and
        most texts contain no secret.
        """
        self.data = data
        self.parent = parent
        self._locate = locate
        self._positions: Positions | None = None

    def until(self, end: int) -> "TextView":
        """Returns a TextView with only the first `end` bytes of this TextView."""
        return TextView(self.data[:end], self.parent, self._locate)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Finds the part of the original text that the bytes `start` to `end` of this copy come from. Returns
        the byte offsets of its start and end in the original text.
        """
        if self.parent is None or self._locate is None:
            return start, end
        if self._positions is None:
            self._positions = self._locate()
        starts, ends = self._positions
        return self.parent.span(starts[start], ends[end - 1])


class Squeeze:
    """A function that makes a shortened TextView of a text: it leaves some bytes out and replaces others. For
    example, the result can be the text in lower case without blanks. An object of this class is called with
    the text.

    `without`: the bytes to leave out. `table`: 256 bytes; the byte with the value n is replaced by
    `table[n]`.
    """

    def __init__(self, without: bytes, table: bytes = _ALL_BYTES) -> None:
        self._without = without
        self._table = table
        self._keeps = bytes(byte not in without for byte in range(256))

    def __call__(self, base: TextView) -> TextView:
        return TextView(
            base.data.translate(self._table, self._without), base, lambda: self._positions(base.data)
        )

    def _positions(self, data: bytes) -> Positions:
        starts = array("q", compress(range(len(data)), data.translate(self._keeps)))
        return starts, array("q", (at + 1 for at in starts))


def replaced(
    base: TextView, pattern: re.Pattern[bytes], meaning: Callable[[re.Match[bytes]], bytes]
) -> TextView:
    """Returns a TextView of `base` in which each match of the pattern is replaced. `meaning`: a function that
    returns the replacement for a match.
    """
    return TextView(pattern.sub(meaning, base.data), base, lambda: _positions(base.data, pattern, meaning))


def joined(base: TextView, pieces: Iterable[tuple[bytes, int, int]]) -> TextView:
    """Returns a TextView that consists of the given pieces. A TextView is a copy of a text that can map its
    bytes to offsets in the original text.

    `pieces`: the bytes of each piece, and the start and end offset in `base` from which they come.
    """
    all_pieces = list(pieces)

    def locate() -> Positions:
        starts, ends = array("q"), array("q")
        for data, start, end in all_pieces:
            starts.extend([start] * len(data))
            ends.extend([end] * len(data))
        return starts, ends

    return TextView(b"".join(data for data, _, _ in all_pieces), base, locate)


def _positions(
    data: bytes, pattern: re.Pattern[bytes], meaning: Callable[[re.Match[bytes]], bytes]
) -> Positions:
    starts, ends = array("q"), array("q")
    at = 0
    for match in pattern.finditer(data):
        starts.extend(range(at, match.start()))
        ends.extend(range(at + 1, match.start() + 1))
        size = len(meaning(match))
        starts.extend([match.start()] * size)
        ends.extend([match.end()] * size)
        at = match.end()
    starts.extend(range(at, len(data)))
    ends.extend(range(at + 1, len(data) + 1))
    return starts, ends


def starts_of(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + 1)
