"""Terminal output as plain text: escape sequences gone, overwritten text dropped."""

import re

_ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # operating system command: titles, links, our end marks
    r"|\x1b[PX^_].{0,4096}?\x1b\\"  # device control and other strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[ -/]*[0-~]"  # two and three character sequences
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BACKSPACE = re.compile(r"[^\x08]\x08")
_MAX_LINE_CHARS = 16_384


class LineCleaner:
    """Cleans a stream line by line, so that no sequence is cut by the way it arrived."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> str:
        """The clean text of the lines that are complete now."""
        *lines, self._rest = (self._rest + text).split("\n")
        clean = "".join(f"{clean_line(line)}\n" for line in lines)
        if len(self._rest) > _MAX_LINE_CHARS:
            # A progress bar that never ends its line shrinks to its last state; anything else passes on.
            if "\r" in self._rest[:-1]:
                self._rest = self._rest[self._rest.rindex("\r", 0, -1) :]
            if len(self._rest) > _MAX_LINE_CHARS:
                clean += self.flush()
        return clean

    def flush(self) -> str:
        """The clean text of the unfinished line, which is then forgotten."""
        rest, self._rest = self._rest, ""
        return clean_line(rest)


def clean_line(line: str) -> str:
    """One line as a reader would have seen it at its end."""
    if not _CONTROL.search(line):
        return line
    line = _ESCAPE.sub("", line).rstrip("\r")
    line = line.rsplit("\r", 1)[-1]
    while "\x08" in line and (shorter := _BACKSPACE.sub("", line)) != line:
        line = shorter
    return _CONTROL.sub("", line)
