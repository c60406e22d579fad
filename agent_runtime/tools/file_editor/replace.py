"""Replaces an exact text in a file. If the text is not found, an error informs the model which parts of the
file are similar.
"""

import difflib

from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.file_editor.text_file import TextFile
from agent_runtime.tools.file_editor.view import numbered

_SIMILAR = 0.6
_MAX_SEARCHED_LINES = 20_000


def replace_once(file: TextFile, old: str, new: str) -> tuple[str, int]:
    """Replaces `old` by `new` in the text of a file. Returns the new text and the line number of the
    replacement.

    Raises EditError unless `old` occurs exactly once. The line endings of `old` and `new` may differ from
    those of the file: they are converted first.
    """
    if not old:
        raise EditError("`old_str` is empty. Give the text to replace, or use `insert` or `create`.")
    old_plain, new_plain = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old_plain == new_plain:
        raise EditError("`old_str` and `new_str` are the same: there is nothing to do.")
    for newline in dict.fromkeys((file.newline, "\n", "\r\n")):
        wanted = old_plain.replace("\n", newline)
        positions = _positions(file.text, wanted)
        if len(positions) == 1:
            start = positions[0]
            text = file.text[:start] + new_plain.replace("\n", newline) + file.text[start + len(wanted) :]
            return text, file.text.count("\n", 0, start) + 1
        if positions:
            lines = ", ".join(str(file.text.count("\n", 0, start) + 1) for start in positions[:20])
            raise EditError(
                f"`old_str` occurs {len(positions)} times, at lines {lines}. Nothing was changed. "
                "Add lines around it until it is unique, or set `replace_all`."
            )
    raise EditError(f"`old_str` does not occur in the file. Nothing was changed.{near_miss(file, old_plain)}")


def replace_all(file: TextFile, old: str, new: str) -> tuple[str, int, int]:
    """Replaces every `old` by `new` in the text of a file. Returns the new text, the line number of the first
    replacement, and the number of replacements.

    Raises EditError if `old` does not occur. Line endings are converted as in `replace_once`.
    """
    if not old:
        raise EditError("`old_str` is empty. Give the text to replace.")
    old_plain, new_plain = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old_plain == new_plain:
        raise EditError("`old_str` and `new_str` are the same: there is nothing to do.")
    for newline in dict.fromkeys((file.newline, "\n", "\r\n")):
        wanted = old_plain.replace("\n", newline)
        if count := file.text.count(wanted):
            line = file.text.count("\n", 0, file.text.index(wanted)) + 1
            return file.text.replace(wanted, new_plain.replace("\n", newline)), line, count
    raise EditError(f"`old_str` does not occur in the file. Nothing was changed.{near_miss(file, old_plain)}")


def replace_counted(file: TextFile, old: str, new: str, expected: int) -> str:
    """Replaces every `old` by `new` in the text of a file and returns the new text. Raises EditError unless
    `old` occurs `expected` times.

    Line endings of `old` and `new` are converted to the file's line endings.
    """
    old_plain, new_plain = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old_plain == new_plain:
        raise EditError("The old and the new text are the same: there is nothing to do.")
    for newline in dict.fromkeys((file.newline, "\n", "\r\n")):
        wanted = old_plain.replace("\n", newline)
        count = file.text.count(wanted)
        if count == expected:
            return file.text.replace(wanted, new_plain.replace("\n", newline))
        if count:
            raise EditError(f"The text occurs {count} times, not {expected}. Nothing was changed.")
    raise EditError(f"The text does not occur in the file. Nothing was changed.{near_miss(file, old_plain)}")


def _positions(text: str, wanted: str) -> list[int]:
    positions, start = [], text.find(wanted)
    while start >= 0:
        positions.append(start)
        start = text.find(wanted, start + 1)
    return positions


def near_miss(file: TextFile, old: str) -> str:
    """Returns a sentence for the model that says which parts of the file are similar to `old`. The sentence
    begins with a space, so that it can follow another text.
    """
    lines, wanted = file.lines, old.removesuffix("\n").split("\n")
    if len(lines) > _MAX_SEARCHED_LINES:
        return " View the place again and copy it exactly."
    squeezed = [" ".join(line.split()) for line in lines]
    target = [" ".join(line.split()) for line in wanted]
    count = len(target)
    for start in range(len(lines) - count + 1):
        if squeezed[start : start + count] == target:
            shown = numbered(lines, start + 1, start + count)
            return f" These lines differ from it only in blanks:\n{shown}"
    close = difflib.get_close_matches(max(target, key=len), squeezed, n=1, cutoff=_SIMILAR)
    if not close:
        return " No part of the file is similar: view it again."
    nearest = squeezed.index(close[0])
    offset = target.index(max(target, key=len))
    first = max(1, nearest + 1 - offset)
    return f" The most similar lines are:\n{numbered(lines, first, min(len(lines), first + count - 1))}"
