"""Lists the contents of a directory, page by page, for clients that show a workspace to people."""

import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agent_runtime.wire import DirectoryEntry, DirectoryPage
from agent_runtime.workspace.local import PathNotAllowedError, confine

MAX_PAGE: Final = 500
_DIRECTORY, _OTHER = "directory:", "other:"
# Directories before all other entries; then by name, without regard to capital letters.
_Order = tuple[bool, str, str]


def list_directory(directory: Path, roots: Sequence[Path], page_id: str | None, limit: int) -> DirectoryPage:
    """Returns one page of the contents of `directory`. Raises OSError if the directory cannot be read, and
    ValueError if `page_id` is not the id of a page.

    `roots`: the directories that the client may access. A link that leads out of them is listed as `other`.
    `page_id`: the `next_page_id` of the page before; None means the first page. `limit`: the highest number
    of entries in the page.
    """
    first = None if page_id is None else _order_of(page_id)
    with os.scandir(directory) as found:
        entries = [(_order(_is_directory(entry, roots), entry.name), entry) for entry in found]
    following = sorted(
        (pair for pair in entries if first is None or pair[0] >= first), key=lambda pair: pair[0]
    )
    return DirectoryPage(
        items=[_describe(entry, roots) for _, entry in following[:limit]],
        next_page_id=_page_id(following[limit][0]) if len(following) > limit else None,
    )


def _describe(entry: os.DirEntry[str], roots: Sequence[Path]) -> DirectoryEntry:
    name = os.fsencode(entry.name).decode(errors="replace")
    is_link = entry.is_symlink()
    # A name that is not valid UTF-8 cannot be in an address, so no client could open the entry.
    status = _status(entry, roots) if name == entry.name else None
    if status is None or not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return DirectoryEntry(name=name, kind="other", is_link=is_link)
    is_file = stat.S_ISREG(status.st_mode)
    return DirectoryEntry(
        name=name,
        kind="file" if is_file else "directory",
        size=status.st_size if is_file else None,
        modified_at=_time(status.st_mtime),
        is_link=is_link,
    )


def _is_directory(entry: os.DirEntry[str], roots: Sequence[Path]) -> bool:
    if not entry.is_symlink():
        return entry.is_dir()
    status = _status(entry, roots)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _status(entry: os.DirEntry[str], roots: Sequence[Path]) -> os.stat_result | None:
    """Returns the status of the file or directory, or of the target if the entry is a link. Returns None if
    the link leads nowhere or out of `roots`, or if the entry has just been removed.
    """
    try:
        if entry.is_symlink():
            confine(entry.path, roots)
        return entry.stat()
    except (OSError, PathNotAllowedError):
        return None


def _time(seconds: float) -> datetime | None:
    """Returns None for a time that a datetime cannot hold. Any program can give its files such times."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _order(is_directory: bool, name: str) -> _Order:
    return (not is_directory, name.casefold(), name)


def _page_id(first: _Order) -> str:
    is_other, _, name = first
    return (_OTHER if is_other else _DIRECTORY) + os.fsencode(name).hex()


def _order_of(page_id: str) -> _Order:
    for prefix in (_DIRECTORY, _OTHER):
        if page_id.startswith(prefix):
            name = os.fsdecode(bytes.fromhex(page_id.removeprefix(prefix)))
            return _order(prefix == _DIRECTORY, name)
    raise ValueError(page_id)
