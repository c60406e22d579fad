"""A tool that finds lines in files by a regular expression."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads
from agent_runtime.tools.search.find import (
    MAX_FILES,
    MAX_LINES_PER_FILE,
    FoundFiles,
    FoundLine,
    SearchError,
    existing,
    find_lines,
    find_matches,
)
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool, ToolContext

MAX_LINES = 200
MAX_CONTEXT = 20
_MAX_LINE_CHARS = 300
_MAX_CHARS = 20_000

_DESCRIPTION = """\
Find lines that match a regular expression, as `file:line:text`; with `context` also the lines around them, as
`file-line-text`. Files are relative to the directory that the answer names, the most recently changed first.
At most {max_lines} lines are shown, {per_file} matches of a file; what is left out is said. `files_only`
returns up to {max_files} absolute paths instead.

The expression is in ripgrep's syntax and minds case; begin it with `(?i)` if case does not matter, and escape
what is meant literally, as in `foo\\(`. `\\n` in it lets a match go over several lines. `include` limits the
search to some names, as `*.py` or `src/**/*.{{ts,tsx}}` do.

Hidden files are searched; binary files, what .gitignore files exclude, and .git are not. The default
directory is {working_dir}. To find files by name use `glob`, or `find` in the terminal."""


class GrepAction(Action):
    off_wire: ClassVar[frozenset[str]] = frozenset({"context", "files_only"})

    pattern: str = Field(description="The regular expression to look for.")
    path: str | None = Field(
        default=None,
        description="The directory, or the one file, to search, absolute. Default: the working directory.",
    )
    include: str | None = Field(
        default=None, description="A glob pattern for the files to search, such as `*.{ts,tsx}`."
    )
    context: int | None = Field(
        default=None,
        ge=0,
        le=MAX_CONTEXT,
        description="How many lines to show before and after each match. Default: 0.",
    )
    files_only: bool | None = Field(
        default=None, description="True returns the files with a match, not the lines. Default: false."
    )


class GrepObservation(OwnObservation):
    matches: list[str]
    pattern: str
    search_path: str
    include_pattern: str | None = None
    truncated: bool = False


class GrepTool(Tool[GrepAction]):
    name = "grep"
    annotations = READS.titled("grep")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(
            max_files=MAX_FILES,
            max_lines=MAX_LINES,
            per_file=MAX_LINES_PER_FILE,
            working_dir=self._working_dir,
        )

    def claims(self, action: GrepAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / (action.path or ""), is_shared=True),)

    def effects(self, action: GrepAction) -> Sequence[Effect]:
        return (Reads(action.path or "."),)

    async def run(self, action: GrepAction) -> GrepObservation:
        try:
            target = existing(action.path, self._working_dir)
            found = await find_matches(action.pattern, target, action.include)
            lines = None
            if found.files and not action.files_only:
                lines = await find_lines(action.pattern, target, found.files[:MAX_LINES], action.context or 0)
        except SearchError as error:
            where = action.path or str(self._working_dir)
            return _answer(action, str(error), where, FoundFiles([], 0), is_error=True)
        text = _files(action, target, found) if lines is None else _lines(action, target, found, lines)
        return _answer(action, text, str(target), found)


def _files(action: GrepAction, target: Path, found: FoundFiles) -> str:
    where = _where(action, target)
    if not found.files:
        return f"No files found containing {where}."
    lines = [f"Found {found.total} file(s) containing {where}:", *found.files]
    if found.is_truncated:
        shown = len(found.files)
        lines.append(f"\n[Only the {shown} newest are shown. Narrow the pattern, `include` or `path`.]")
    return "\n".join(lines)


def _lines(action: GrepAction, target: Path, found: FoundFiles, lines: Sequence[FoundLine]) -> str:
    shown: list[str] = []
    size, before = 0, None
    for line in lines[:MAX_LINES]:
        is_apart = before is not None and (line.file, line.number) != (before.file, before.number + 1)
        mark = ":" if line.is_match else "-"
        text = f"{line.file}{mark}{line.number}{mark}{_clipped(line.text)}"
        size += len(text) + 1
        if size > _MAX_CHARS:
            break
        shown += ["--", text] if action.context and is_apart else [text]
        before = line
    shown_count = sum(text != "--" for text in shown)
    files = {line.file for line in lines[:shown_count]}
    notices = _left_out(found, lines, shown_count, len(files))
    counted = f"Found {found.total} file(s) containing {_where(action, target)}:"
    return "\n".join([counted, *shown, *([f"\n[{' '.join(notices)}]"] if notices else [])])


def _left_out(found: FoundFiles, lines: Sequence[FoundLine], shown_count: int, files: int) -> list[str]:
    matches = Counter(line.file for line in lines[:shown_count] if line.is_match)
    full = [file for file, count in matches.items() if count >= MAX_LINES_PER_FILE]
    notices = []
    if shown_count < len(lines) or files < found.total:
        notices.append(f"Only {shown_count} lines of the {files} newest files are shown.")
    if full:
        notices.append(f"Of these only the first {MAX_LINES_PER_FILE} matches: {', '.join(full)}.")
    return [*notices, "Narrow the pattern, `include` or `path`."] if notices else []


def _clipped(text: str) -> str:
    if len(text) <= _MAX_LINE_CHARS:
        return text
    return f"{text[:_MAX_LINE_CHARS]} [… the rest of this long line is left out]"


def _where(action: GrepAction, target: Path) -> str:
    where = f"pattern '{action.pattern}' in '{target}'"
    return f"{where} (only '{action.include}')" if action.include else where


def _answer(
    action: GrepAction, text: str, search_path: str, found: FoundFiles, *, is_error: bool = False
) -> GrepObservation:
    return GrepObservation(
        content=[TextContent(text=text)],
        is_error=is_error,
        matches=found.files,
        pattern=action.pattern,
        search_path=search_path,
        include_pattern=action.include,
        truncated=found.is_truncated,
    )
