"""Stores the colours and other styles of a terminal's output separately from the plain text of the output.

A style is stored with the range of characters to which it applies. It consists of the parameters of a
terminal's escape sequence, such as `1;31` for bold red. A line that is shown gets the styles of the output
line with the same text. If a secret in the line was masked, the text is not the same, so the line has no
styles.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

from agent_runtime.tools.terminal.clean import CONTROL, ESCAPE, clean_line

Style = tuple[int, int, str]
"""A style of a part of a text: the index of the first character, the index after the last character, the
style.
"""

MAX_STYLES = 2000
_LOOK_AHEAD_LINES = 64
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_SLOTS = {
    1: "weight",
    2: "weight",
    3: "italic",
    4: "underline",
    7: "inverse",
    8: "hidden",
    9: "strike",
    **dict.fromkeys((*range(30, 38), *range(90, 98)), "color"),
    **dict.fromkeys((*range(40, 48), *range(100, 108)), "background"),
}
_ENDS = {
    22: "weight",
    23: "italic",
    24: "underline",
    27: "inverse",
    28: "hidden",
    29: "strike",
    39: "color",
    49: "background",
}
_EXTENDED = {38: "color", 48: "background"}
_EXTENDED_LENGTHS = {"5": 3, "2": 5}


@dataclass(frozen=True)
class _Line:
    text: str
    styles: Sequence[Style]


class Pen:
    """The current style of the terminal, such as bold or a colour. The next text is printed in this style."""

    def __init__(self) -> None:
        self._set: dict[str, str] = {}

    @property
    def style(self) -> str:
        return ";".join(self._set.values())

    def copy(self) -> "Pen":
        pen = Pen()
        pen._set = dict(self._set)
        return pen

    def take(self, parameters: str) -> None:
        """Changes the current style by one escape sequence of the terminal's output. `parameters`: the
        numbers in the sequence, such as `1;31` for bold red. Unknown numbers are ignored.
        """
        codes = parameters.split(";")
        while codes:
            code = int(codes[0] or 0) if len(codes[0]) <= 3 else -1
            length = _EXTENDED_LENGTHS.get(codes[1], 1) if code in _EXTENDED and len(codes) > 1 else 1
            taken, codes = codes[:length], codes[length:]
            if code == 0:
                self._set.clear()
            elif code in _EXTENDED:
                if 1 < length == len(taken) and all(one.isdigit() and int(one) < 256 for one in taken[1:]):
                    self._set[_EXTENDED[code]] = ";".join(taken)
            elif code in _SLOTS:
                self._set[_SLOTS[code]] = str(code)
            elif code in _ENDS:
                self._set.pop(_ENDS[code], None)


class Paint:
    """The colours and other styles of the first and the last lines of a command's output. The lines in the
    middle are dropped, to limit the memory use.
    """

    def __init__(self, max_chars: int) -> None:
        """Creates the object without lines. `max_chars`: about how many characters of the first
        lines are stored. The same number of characters of the last lines is stored, too.
        """
        self._max_chars = max_chars
        self._pen = Pen()
        self._is_plain = True
        self._start_over()

    def add(self, raw: str, clean: str) -> None:
        """Adds the next line of the output without its line ending. `raw`: the line as the terminal received
        it. `clean`: the same line as plain text, without escape sequences and overwritten text.
        """
        line = _painted(raw, clean, self._pen)
        self._is_plain = self._is_plain and not line.styles
        if self._head_chars < self._max_chars:
            self._head.append(line)
            self._head_chars += len(clean) + 1
            return
        self._tail.append(line)
        self._tail_chars += len(clean) + 1
        while self._tail_chars > self._max_chars and len(self._tail) > 1:
            self._tail_chars -= len(self._tail.popleft().text) + 1

    def styles(self, text: str, *, unfinished: str = "", limit: int = MAX_STYLES) -> list[Style]:
        """Returns the styles for a text that consists of lines of the output. Each style has the range of
        characters in `text` to which it applies. `text`: plain text with all or some lines of the output.
        `limit`: the maximum number of styles; if there are more, the first ones are left out.

        `unfinished`: the last line of the output with its escape sequences, if the rest of this line has not
        arrived yet; otherwise empty. `add` gets only complete lines, but `text` may already contain this
        line.
        """
        tail = list(self._tail)
        if unfinished:
            tail.append(_painted(unfinished, clean_line(unfinished), self._pen.copy()))
        if self._is_plain and not (unfinished and tail[-1].styles):
            return []
        lines = text.split("\n")
        found = dict(_matches(lines, self._head))
        backwards = [line for index, line in enumerate(lines) if index not in found][::-1]
        positions = [index for index in range(len(lines)) if index not in found][::-1]
        found |= {positions[at]: line for at, line in _matches(backwards, tail[::-1])}
        return _placed(lines, found)[-limit:]

    def end(self) -> None:
        """Removes all lines and resets the style for the text that follows, so that the output of another
        command can begin.
        """
        self._pen = Pen()
        self._start_over()

    def taken(self) -> "Paint":
        """Moves all lines of this object to a new object, and returns the new object. The method `styles` of
        the new object returns the styles of these lines. This object keeps only the style at the end of these
        lines, because later output begins with this style.
        """
        taken = copy(self)
        self._start_over()
        self._pen = self._pen.copy()
        return taken

    def _start_over(self) -> None:
        self._head: list[_Line] = []
        self._tail: deque[_Line] = deque()
        self._head_chars = self._tail_chars = 0
        self._is_plain = True


def _painted(raw: str, clean: str, pen: Pen) -> _Line:
    """Returns a line of output as plain text with its styles.

    `raw`: the line as the terminal received it, with the escape sequences that set styles. `clean`: the same
    line as plain text. `pen`: the style at the beginning of the line; the function changes it to the style at
    the end.
    """
    if "\x1b" not in raw:
        return _Line(clean, [(0, len(clean), pen.style)] if pen.style and clean else [])
    pieces = [(piece, style) for piece, style in _pieces(raw, pen) if piece]
    seen = "".join(piece for piece, _ in pieces)
    # As in clean_line: what was overwritten is gone.
    end = len(seen.rstrip("\r"))
    start = seen.rfind("\r", 0, end) + 1
    styles: list[Style] = []
    at = shown = 0
    text = ""
    for piece, style in pieces:
        visible_text = CONTROL.sub("", piece[max(0, start - at) : max(0, end - at)])
        at += len(piece)
        if visible_text and style:
            if styles and styles[-1][1:] == (shown, style):
                styles[-1] = (styles[-1][0], shown + len(visible_text), style)
            else:
                styles.append((shown, shown + len(visible_text), style))
        shown += len(visible_text)
        text += visible_text
    return _Line(clean, styles if text == clean else [])


def _pieces(raw: str, pen: Pen) -> Iterator[tuple[str, str]]:
    """Yields the parts of the line `raw` between its escape sequences, each with its style. `pen`: the style
    at the beginning of the line; each escape sequence changes it.
    """
    at = 0
    for escape in ESCAPE.finditer(raw):
        yield raw[at : escape.start()], pen.style
        at = escape.end()
        if sgr := _SGR.fullmatch(escape[0]):
            pen.take(sgr[1])
    yield raw[at:], pen.style


def _matches(lines: Sequence[str], known: Sequence[_Line]) -> Iterator[tuple[int, _Line]]:
    """Finds stored lines of the output in a text, so that these lines can get their styles. Yields each found
    line of `known` with its index in `lines`.

    `lines`: the lines of the text. `known`: the stored lines of the output. A line is found if both texts are
    equal. Both sequences must have the same order, but each may lack some lines of the other.
    """
    reached = 0
    for index, text in enumerate(lines):
        for at in range(reached, min(reached + _LOOK_AHEAD_LINES, len(known))):
            if known[at].text == text:
                yield index, known[at]
                reached = at + 1
                break


def _placed(lines: Sequence[str], found: dict[int, _Line]) -> list[Style]:
    styles: list[Style] = []
    offset = 0
    for index, text in enumerate(lines):
        if index in found:
            styles += [(offset + start, offset + end, style) for start, end, style in found[index].styles]
        offset += len(text) + 1
    return styles
