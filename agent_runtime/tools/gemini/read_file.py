"""A tool that reads a file, with the parameters that Gemini models are trained on."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads
from agent_runtime.tools.gemini.paths import answer, existing_file, resolve
from agent_runtime.tools.image_file import read_image
from agent_runtime.tools.tool import READS, Action, OwnObservation, Tool, ToolContext
from agent_runtime.tools.unchanged import is_unchanged

MAX_LINES = 2_000
MAX_CHARS = 60_000

_DESCRIPTION = f"""\
Read a file. Text comes as it stands in the file, without line numbers; PNG, JPEG, GIF and WebP images come as
images. At most {MAX_LINES:,} lines or {MAX_CHARS:,} characters are returned; a notice says when there is
more, and with which `offset` to go on. Paths are absolute, or relative to {{working_dir}}."""


class ReadFileAction(Action):
    file_path: str = Field(description="The file.")
    offset: int | None = Field(default=None, ge=0, description="The first line to return, counted from 0.")
    limit: int | None = Field(default=None, ge=1, description="How many lines to return at most.")


class ReadFileObservation(OwnObservation):
    """The result of a call of the tool that reads a file.

    `lines_shown`: the numbers of the first and the last shown line, counted from 1. None if the result shows
    the whole file, or if it is an image or an error.
    """

    file_path: str
    file_content: str = ""
    is_truncated: bool = False
    lines_shown: tuple[int, int] | None = None
    total_lines: int | None = None


class ReadFileTool(Tool[ReadFileAction]):
    name = "read_file"
    annotations = READS.titled("read_file")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(working_dir=self._working_dir)

    def claims(self, action: ReadFileAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / action.file_path, is_shared=True),)

    def is_unchanged(self, action: ReadFileAction, since: float) -> bool:
        return is_unchanged(self._working_dir / action.file_path, since, self._working_dir)

    def effects(self, action: ReadFileAction) -> Sequence[Effect]:
        return (Reads(action.file_path),)

    async def run(self, action: ReadFileAction) -> ReadFileObservation:
        return await asyncio.to_thread(answer, lambda: self._read(action), lambda why: _failed(action, why))

    def _read(self, action: ReadFileAction) -> ReadFileObservation:
        path = resolve(action.file_path, self._working_dir)
        if path.is_file() and (image := read_image(path)):
            shown: list[Content] = [TextContent(text=f"{path}:"), ImageContent(image_urls=[image.url])]
            return ReadFileObservation(content=shown, file_path=str(path))
        lines = existing_file(path).lines
        first = action.offset or 0
        if first and first >= len(lines):
            return _failed(action, f"`offset` is {first}, but the file has {len(lines)} lines.")
        return _observation_of(path, lines, first, _last(lines, first, action.limit or MAX_LINES))


def _last(lines: list[str], first: int, limit: int) -> int:
    """Returns the index after the last line to show. `lines`: all lines of the file. `first`: the index of
    the first line to show.

    The lines to show are as many as possible, but at least one, if there is one. They are at most `limit`
    lines, at most MAX_LINES lines, and together at most MAX_CHARS characters. If the first line alone is
    longer than MAX_CHARS, only this line is shown.
    """
    size, last = 0, first
    for line in lines[first : first + min(limit, MAX_LINES)]:
        size += len(line) + 1
        if size > MAX_CHARS and last > first:
            break
        last += 1
    return last


def _observation_of(path: Path, lines: list[str], first: int, last: int) -> ReadFileObservation:
    text = "\n".join(line[:MAX_CHARS] for line in lines[first:last])
    is_truncated = first > 0 or last < len(lines) or any(len(line) > MAX_CHARS for line in lines[first:last])
    notice = ""
    if is_truncated:
        notice = f"[Lines {first + 1}-{last} of {len(lines)} of {path}."
        notice += f" Go on with offset={last}.]\n" if last < len(lines) else "]\n"
    return ReadFileObservation(
        content=[TextContent(text=notice + text if lines else f"{path} is empty.")],
        file_path=str(path),
        file_content=text,
        is_truncated=is_truncated,
        lines_shown=(first + 1, last) if is_truncated else None,
        total_lines=len(lines),
    )


def _failed(action: ReadFileAction, reason: str) -> ReadFileObservation:
    return ReadFileObservation(content=[TextContent(text=reason)], is_error=True, file_path=action.file_path)
