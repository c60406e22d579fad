"""Shows files and directories to the model as text."""

from collections.abc import Iterator
from pathlib import Path

from agent_runtime.tools.file_editor.models import EditError

MAX_VIEW_CHARS = 16_000
_MAX_LINE_CHARS = 2_000
_MAX_ENTRIES = 500
_NOT_DESCENDED = frozenset({"node_modules", "__pycache__", "site-packages"})


def numbered(lines: list[str], first: int, last: int) -> str:
    """Returns the lines `first` to `last` (counted from 1, both included) with line numbers, as `cat -n`
    prints them.
    """
    return "\n".join(f"{number:6}\t{_clip_line(lines[number - 1])}" for number in range(first, last + 1))


def show_file(path: Path, lines: list[str], view_range: list[int] | None) -> str:
    first, last = _checked_range(view_range, len(lines))
    shown = last
    while len(text := numbered(lines, first, shown)) > MAX_VIEW_CHARS and shown > first:
        # Long files: come close in a few steps instead of line by line.
        shown = max(first, first + int((shown - first + 1) * MAX_VIEW_CHARS / len(text)) - 1)
    title = f"{path}, lines {first}-{shown} of {len(lines)}:" if lines else f"{path} is empty."
    notice = (
        "" if shown == last else f"\n<response clipped> Ask for view_range [{shown + 1}, {last}] to go on."
    )
    return f"{title}\n{text}{notice}" if lines else title


def show_directory(path: Path) -> str:
    entries = list(_walk(path, depth=2))
    hidden = sum(1 for entry in path.iterdir() if entry.name.startswith("."))
    listing = "\n".join([f"{path}/", *entries[:_MAX_ENTRIES]])
    clipped = len(entries) - _MAX_ENTRIES
    if clipped > 0:
        listing += f"\n<response clipped> {clipped} more entries; view a directory below, or use find."
    return f"{listing}\n({hidden} hidden entries here are not shown.)" if hidden else listing


def _checked_range(view_range: list[int] | None, count: int) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    if len(view_range) != 2:
        raise EditError("`view_range` takes two numbers: the first and the last line.")
    first, last = view_range
    if not 1 <= first <= max(count, 1):
        raise EditError(f"`view_range` starts at line {first}, but the file has lines 1 to {count}.")
    if last != -1 and last < first:
        raise EditError(f"`view_range` ends at line {last}, before its start at {first}.")
    return first, count if last == -1 else min(last, count)


def _clip_line(line: str) -> str:
    if len(line) <= _MAX_LINE_CHARS:
        return line
    return f"{line[:_MAX_LINE_CHARS]} [… {len(line) - _MAX_LINE_CHARS:,} more characters in this line]"


def _walk(directory: Path, depth: int) -> Iterator[str]:
    for entry in sorted(directory.iterdir()):
        if entry.name.startswith("."):
            continue
        is_directory = entry.is_dir() and not entry.is_symlink()
        yield f"{entry}/" if is_directory else str(entry)
        if is_directory and depth > 1 and entry.name not in _NOT_DESCENDED:
            try:
                yield from _walk(entry, depth - 1)
            except PermissionError:
                yield f"{entry}/ (may not be read)"
