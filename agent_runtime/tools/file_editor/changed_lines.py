"""Tracks which lines of a file are changed by several replacements."""

from agent_runtime.tools.file_editor.view import numbered


class ChangedLines:
    """The places in a file that several replacements have changed, as line numbers. If a new change adds or
    removes lines, the object corrects the line numbers of all changes that are further down in the file.
    """

    def __init__(self) -> None:
        self._changes: list[tuple[int, int]] = []

    def add(self, line: int, *, old_lines: int, new_lines: int) -> None:
        """Adds a change: at the line number `line`, `new_lines` lines have replaced `old_lines` lines."""
        grown = new_lines - old_lines
        self._changes = [(at + grown if at > line else at, count) for at, count in self._changes]
        self._changes.append((line, new_lines))

    def show(self, lines: list[str], context: int) -> str:
        """Returns the changed lines as text, in order, with their line numbers and with `context` unchanged
        lines before and after each change. `lines`: all lines of the file after the changes.
        """
        ranges: list[tuple[int, int]] = []
        for line, count in sorted(self._changes):
            first, last = max(1, line - context), min(len(lines), line + count - 1 + context)
            if ranges and first <= ranges[-1][1] + 1:
                ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
            elif first <= last:
                ranges.append((first, last))
        return "\n...\n".join(numbered(lines, first, last) for first, last in ranges) or "(nothing)"
