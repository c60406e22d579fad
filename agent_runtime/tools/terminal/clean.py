"""Converts terminal output to plain text: removes escape sequences and overwritten text."""

import re
from collections.abc import Callable

ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # operating system command: titles, links, our end marks
    r"|\x1b[PX^_].{0,4096}?\x1b\\"  # device control and other strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[ -/]*[0-~]"  # two and three character sequences
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CUT_ESCAPE = re.compile(r"\x1b(?:\][^\x07\x1b]{0,4096}|[PX^_][^\x1b]{0,4096}|\[[0-?]*[ -/]*|[ -/]*)\x1b?\Z")
_BACKSPACE = re.compile(r"[^\x08]\x08")
_MAX_LINE_CHARS = 16_384


class LineCleaner:
    """An object that converts a stream of terminal output to plain text, line by line. An escape sequence may
    be split between two calls of `feed`.
    """

    def __init__(self, on_line: Callable[[str, str], None]) -> None:
        """Creates a cleaner for the output of one terminal. `on_line`: a function that is called with each
        complete line of the output. The first argument is the line as the terminal received it, the second is
        the line as plain text. Neither has a line ending.
        """
        self._on_line = on_line
        self._rest = ""

    @property
    def unfinished(self) -> str:
        """The raw text of the last line, which is not complete yet. An incomplete escape sequence at its end
        is left out.
        """
        return _CUT_ESCAPE.sub("", self._rest)

    def feed(self, text: str) -> str:
        """Adds the next piece of the terminal's output. Returns the lines that this piece has completed, as
        plain text with line endings.
        """
        *lines, self._rest = (self._rest + text).split("\n")
        clean = "".join(f"{self._cleaned(line)}\n" for line in lines)
        if len(self._rest) > _MAX_LINE_CHARS:
            # Of a progress bar that never ends its line only the last state is kept; other text is passed on.
            if "\r" in self._rest[:-1]:
                self._rest = self._rest[self._rest.rindex("\r", 0, -1) :]
            if len(self._rest) > _MAX_LINE_CHARS:
                clean += self.flush()
        return clean

    def flush(self) -> str:
        """Returns the last line, which is not complete yet, as plain text, and removes the line from this
        object.
        """
        rest, self._rest = self._rest, ""
        return self._cleaned(rest) if rest else ""

    def _cleaned(self, line: str) -> str:
        clean = clean_line(line)
        self._on_line(line, clean)
        return clean


def clean_line(line: str) -> str:
    """Returns the line as it finally appears on a terminal, without overwritten parts and
    control characters.
    """
    if not CONTROL.search(line):
        return line
    line = ESCAPE.sub("", line).rstrip("\r")
    line = line.rsplit("\r", 1)[-1]
    while "\x08" in line and (shorter := _BACKSPACE.sub("", line)) != line:
        line = shorter
    return CONTROL.sub("", line)
