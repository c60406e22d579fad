"""A tool that finds files by their names."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from pydantic import Field, JsonValue

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads
from agent_runtime.tools.search.find import MAX_FILES, SearchError, existing, find_files
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool, ToolContext

_DESCRIPTION = """\
Find files by name. Returns up to {max_files} absolute paths, the most recently changed first.

Patterns: `*` and `?` stand for characters of one name, `**` for any directories, `[ab]` for one of several
characters, `{{a,b}}` for one of several texts. A pattern without a slash finds names in every directory, as
`test_*.py` does; one with a slash starts at the searched directory, as `src/**/*.{{ts,tsx}}` does.

Hidden files are found; what .gitignore files exclude, and .git itself, is not. The default directory is
{working_dir}. To look into files use `grep`."""


class GlobAction(Action):
    pattern: str = Field(description="The glob pattern, such as `*.toml` or `src/**/*.ts`.")
    path: str | None = Field(
        default=None, description="The directory to search, absolute. Default: the working directory."
    )


class GlobObservation(OwnObservation):
    files: list[str]
    pattern: str
    search_path: str
    truncated: bool = False


class GlobTool(Tool[GlobAction]):
    name = "glob"
    annotations = READS.titled("glob")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(max_files=MAX_FILES, working_dir=self._working_dir)

    def claims(self, action: GlobAction) -> Sequence[Claim]:
        path, _ = _split(action)
        return (file_claim(self._working_dir / (path or ""), is_shared=True),)

    def touches(self, action: GlobAction, observation: Mapping[str, JsonValue]) -> Sequence[Path]:
        del observation
        path, pattern = _split(action)
        return [self._working_dir / (path or "") / _fixed(PurePath(pattern).parts)]

    def effects(self, action: GlobAction) -> Sequence[Effect]:
        path, _ = _split(action)
        return (Reads(path or "."),)

    async def run(self, action: GlobAction) -> GlobObservation:
        path, pattern = _split(action)
        try:
            directory = existing(path, self._working_dir)
            found = await find_files(pattern, directory)
        except SearchError as error:
            return _answer(action, str(error), path or str(self._working_dir), is_error=True)
        return _answer(
            action, _listing(action, directory, found.files, found.total), str(directory), files=found.files,
            truncated=found.is_truncated,
        )  # fmt: skip


def _split(action: GlobAction) -> tuple[str | None, str]:
    """Returns the directory to search (None means the working directory), and the glob pattern relative to
    this directory.

    If the pattern of the tool call is a relative path, returns `path` and the pattern of the call unchanged.
    If it is an absolute path, splits it before the first part with a wildcard: `/a/b/*.py` becomes `/a/b` and
    `./*.py`. Without a wildcard, splits it before the last part. The `path` of the call is then ignored.
    """
    if not action.pattern.startswith("/"):
        return action.path, action.pattern
    parts = PurePath(action.pattern).parts
    directory = _fixed(parts)
    # A slash keeps `/a/*.py` from finding files further down.
    return str(directory), f"./{'/'.join(parts[len(directory.parts) :])}"


def _fixed(parts: Sequence[str]) -> Path:
    """Returns the directory below which a glob pattern can match files: the parts of the pattern before the
    first part with a wildcard.
    """
    fixed = next((i for i, part in enumerate(parts[:-1]) if set(part) & set("*?[{")), len(parts) - 1)
    return Path(*parts[: max(fixed, 0)])


def _listing(action: GlobAction, directory: Path, files: list[str], total: int) -> str:
    where = f"pattern '{action.pattern}' in '{directory}'"
    if not files:
        return f"No files found matching {where}. Ignored files are not searched; `**/` reaches any depth."
    lines = [f"Found {total} file(s) matching {where}:", *files]
    if total > len(files):
        lines.append(f"\n[Only the {len(files)} newest are shown. Narrow the pattern, or give a `path`.]")
    return "\n".join(lines)


def _answer(
    action: GlobAction,
    text: str,
    search_path: str,
    *,
    files: list[str] | None = None,
    truncated: bool = False,
    is_error: bool = False,
) -> GlobObservation:
    return GlobObservation(
        content=[TextContent(text=text)],
        is_error=is_error,
        files=files or [],
        pattern=action.pattern,
        search_path=search_path,
        truncated=truncated,
    )
