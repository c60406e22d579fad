"""Collects the output of a command in bounded memory. Long output is also saved to a file."""

import codecs
import uuid
from pathlib import Path
from typing import IO

from agent_runtime.secrets.masking import StreamMask
from agent_runtime.tools.terminal.clean import LineCleaner, clean_line
from agent_runtime.tools.terminal.paint import Paint, Style
from agent_runtime.tools.truncate import MAX_OUTPUT_CHARS, join_cut

# The limit for the file of one observation. Of longer output only head and tail are kept.
MAX_SAVED_CHARS = 64 * 1024 * 1024


class OutputCollector:
    """A collector of the output of commands. A caller adds the output as bytes. `take` returns the text that
    was added since the previous call of `take`.

    If this text is longer than `max_chars`, only its beginning and its end are returned. The whole output is
    saved in a file below `save_dir`.
    """

    def __init__(
        self, save_dir: Path, hide: StreamMask, max_chars: int = MAX_OUTPUT_CHARS, *, label: str = "terminal"
    ) -> None:
        """Creates an empty collector. `hide`: masks secrets before output is stored, shortened or saved to a
        file. `max_chars`: the length to which longer output is shortened. `save_dir`: the directory of the
        files with the whole output. `label`: the beginning of the names of these files.
        """
        self._label = label
        self._save_dir = save_dir
        self._half = max_chars // 2
        self._hide = hide
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._paint = Paint(self._half)
        self._taken = Paint(self._half)
        self._cleaner = LineCleaner(self._paint.add)
        self._start_over()

    def feed(self, data: bytes) -> None:
        self._keep(self._hide.feed(self._cleaner.feed(self._decoder.decode(data))))

    def take(self, *, is_last: bool = True) -> str:
        """Returns the output since the previous call of `take`.

        `is_last`: whether the command has ended. If not, text at the end that could be the beginning of a
        secret is returned by a later call.
        """
        self._keep(self._hide.feed(self._cleaner.flush()))
        if is_last:
            self._keep(self._hide.flush())
        text = self._text()
        self._taken = self._paint.taken()
        if is_last:
            self._paint.end()
        self._let_go()
        return text

    def styles(self, text: str) -> list[Style]:
        """Returns the colours for a text that the last call of `take` has returned. `text`: this text, or a
        version of it in which the caller has changed some lines. Changed lines get no colours.
        """
        return self._taken.styles(text)

    def peek(self, max_chars: int) -> str:
        """Returns the end of the text that `take` would return now, at most `max_chars` characters. Leaves
        out characters at the end that may be the beginning of a secret.
        """
        unfinished = self._hide.peek(clean_line(self._cleaner.unfinished))
        text = f"{self._head}{self._tail}"[-max_chars:] + unfinished
        if len(text) <= max_chars and self._total <= max_chars:
            return text
        end = text[-max_chars:]
        return end[end.find("\n", 0, -1) + 1 :]

    def styles_now(self, text: str, limit: int) -> list[Style]:
        """Returns the colours for a text that the last call of `peek` has returned. `text`: this text, or a
        version of it in which the caller has changed some lines. Changed lines get no colours.

        `limit`: the maximum number of coloured parts; if there are more, the first ones get no colour.
        """
        return self._paint.styles(text, unfinished=self._cleaner.unfinished, limit=limit)

    def discard(self) -> None:
        """Drops the output that `take` has not returned yet, and closes the file with the saved output."""
        self._hide.flush()
        self._paint.end()
        self._let_go()

    def _let_go(self) -> None:
        if self._file:
            self._file.close()
        self._start_over()

    def _start_over(self) -> None:
        self._head = self._tail = ""
        self._total = 0
        self._file: IO[str] | None = None
        self._path: Path | None = None

    def _keep(self, text: str) -> None:
        was_complete = self._total <= 2 * self._half
        self._total += len(text)
        if was_complete and self._total > 2 * self._half:
            self._open_file()
            self._save(self._head + self._tail)
        self._save(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-self._half :]

    def _text(self) -> str:
        omitted = self._total - len(self._head) - len(self._tail)
        if omitted <= 0:
            return self._head + self._tail
        hint = f"the full output is in {self._path}" if self._total <= MAX_SAVED_CHARS else ""
        hint = hint or f"the first {MAX_SAVED_CHARS:,} characters are in {self._path}"
        return join_cut(self._head, self._tail, omitted_chars=omitted, hint=hint)

    def _open_file(self) -> None:
        self._save_dir.mkdir(parents=True, exist_ok=True)
        self._path = self._save_dir / f"{self._label}-{uuid.uuid4().hex[:12]}.txt"
        self._file = self._path.open("w", encoding="utf-8")

    def _save(self, text: str) -> None:
        if self._file and self._total <= MAX_SAVED_CHARS:
            self._file.write(text)
