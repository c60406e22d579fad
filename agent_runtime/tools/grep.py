"""A tool that finds files by their content."""

from collections.abc import Sequence

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads
from agent_runtime.tools.search.find import MAX_FILES, FoundFiles, SearchError, existing, find_matches
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool, ToolContext

_DESCRIPTION = """\
Find files with a line that matches a regular expression. Returns up to {max_files} absolute paths, the most
recently changed first; to see the lines, view the files or run `grep -n` in the terminal.

The expression is in ripgrep's syntax and minds case; begin it with `(?i)` if case does not matter, and escape
what is meant literally, as in `foo\\(`. `\\n` in it lets a match go over several lines. `include` limits the
search to some names, as `*.py` or `src/**/*.{{ts,tsx}}` do.

Hidden files are searched; binary files, what .gitignore files exclude, and .git are not. The default
directory is {working_dir}. To find files by name use `glob`."""


class GrepAction(Action):
    pattern: str = Field(description="The regular expression to look for.")
    path: str | None = Field(
        default=None,
        description="The directory, or the one file, to search, absolute. Default: the working directory.",
    )
    include: str | None = Field(
        default=None, description="A glob pattern for the files to search, such as `*.{ts,tsx}`."
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
        return _DESCRIPTION.format(max_files=MAX_FILES, working_dir=self._working_dir)

    def claims(self, action: GrepAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / (action.path or ""), is_shared=True),)

    def effects(self, action: GrepAction) -> Sequence[Effect]:
        return (Reads(action.path or "."),)

    async def run(self, action: GrepAction) -> GrepObservation:
        try:
            target = existing(action.path, self._working_dir)
            found = await find_matches(action.pattern, target, action.include)
        except SearchError as error:
            where = action.path or str(self._working_dir)
            return _answer(action, str(error), where, FoundFiles([], 0), is_error=True)
        return _answer(action, _listing(action, str(target), found), str(target), found)


def _listing(action: GrepAction, target: str, found: FoundFiles) -> str:
    where = f"pattern '{action.pattern}' in '{target}'"
    if action.include:
        where += f" (only '{action.include}')"
    if not found.files:
        return f"No files found containing {where}."
    lines = [f"Found {found.total} file(s) containing {where}:", *found.files]
    if found.is_truncated:
        shown = len(found.files)
        lines.append(f"\n[Only the {shown} newest are shown. Narrow the pattern, `include` or `path`.]")
    return "\n".join(lines)


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
