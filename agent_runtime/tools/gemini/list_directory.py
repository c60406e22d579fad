"""A tool that lists a directory, with the parameters that Gemini models are trained on."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads
from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.gemini.paths import answer, resolve
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool, ToolContext

MAX_ENTRIES = 500

_DESCRIPTION = f"""\
List a directory: for each entry its kind, size in bytes, time of the last change (UTC) and path, hidden
entries included. With `recursive` the directories in it are listed as well, but not what lies below them. At
most {MAX_ENTRIES} entries are shown. Paths are absolute, or relative to {{working_dir}}."""


class ListDirectoryAction(Action):
    dir_path: str = Field(default=".", description="The directory. Default: the working directory.")
    recursive: bool = Field(default=False, description="Whether to list two levels instead of one.")


class FileEntry(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    path: str
    is_directory: bool
    size: int
    modified_time: datetime


class ListDirectoryObservation(OwnObservation):
    dir_path: str | None = None
    entries: list[FileEntry] = []
    total_count: int = 0
    is_truncated: bool = False


class ListDirectoryTool(Tool[ListDirectoryAction]):
    name = "list_directory"
    annotations = READS.titled("list_directory")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(working_dir=self._working_dir)

    def claims(self, action: ListDirectoryAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / action.dir_path, is_shared=True),)

    def effects(self, action: ListDirectoryAction) -> Sequence[Effect]:
        return (Reads(action.dir_path),)

    async def run(self, action: ListDirectoryAction) -> ListDirectoryObservation:
        return await asyncio.to_thread(answer, lambda: self._list(action), lambda why: _failed(action, why))

    def _list(self, action: ListDirectoryAction) -> ListDirectoryObservation:
        directory = resolve(action.dir_path, self._working_dir)
        if not directory.is_dir():
            what = "a file; read it with `read_file`" if directory.exists() else "not there"
            raise EditError(f"{directory} is {what}.")
        paths = list(_below(directory, depth=2 if action.recursive else 1))
        entries = [_entry(path) for path in paths[:MAX_ENTRIES]]
        lines = [f"{directory}: {len(paths)} entries", *map(_line, entries)]
        if len(paths) > MAX_ENTRIES:
            lines.append(f"[Only the first {MAX_ENTRIES} are shown: list a directory further down.]")
        return ListDirectoryObservation(
            content=[TextContent(text="\n".join(lines))],
            dir_path=str(directory),
            entries=entries,
            total_count=len(paths),
            is_truncated=len(paths) > MAX_ENTRIES,
        )


def _below(directory: Path, depth: int) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        yield path
        if depth > 1 and path.is_dir() and not path.is_symlink():
            try:
                yield from _below(path, depth - 1)
            except PermissionError:
                continue  # it is listed itself


def _entry(path: Path) -> FileEntry:
    status = path.lstat()
    return FileEntry(
        name=_text(path.name),
        path=_text(str(path)),
        is_directory=path.is_dir(),
        size=status.st_size,
        modified_time=datetime.fromtimestamp(status.st_mtime, UTC),
    )


def _text(name: str) -> str:
    """Returns the file name as valid UTF-8 for the model. File names on disk may contain bytes that are not
    UTF-8.
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _line(entry: FileEntry) -> str:
    kind = "dir " if entry.is_directory else "file"
    return f"{kind} {entry.size:>10} {entry.modified_time:%Y-%m-%d %H:%M} {entry.path}"


def _failed(action: ListDirectoryAction, reason: str) -> ListDirectoryObservation:
    return ListDirectoryObservation(
        content=[TextContent(text=reason)], is_error=True, dir_path=action.dir_path
    )
