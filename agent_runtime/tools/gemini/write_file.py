"""A tool that writes a whole file, with the parameters that Gemini models are trained on."""

import asyncio
from collections.abc import Sequence

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Writes
from agent_runtime.tools.file_editor.text_file import TextFile, write_bytes
from agent_runtime.tools.gemini.paths import answer, existing_file, resolve
from agent_runtime.tools.tool import Action, OwnObservation, Tool, ToolAnnotations, ToolContext

_DESCRIPTION = """\
Write a file, with the directories it needs. What it contained before is replaced wholly: to change parts of a
file use `edit`. An existing file keeps its encoding and line endings; write `content` with plain line breaks.
Paths are absolute, or relative to {working_dir}."""


class WriteFileAction(Action):
    file_path: str = Field(description="The file.")
    content: str = Field(description="All that the file shall contain.")


class WriteFileObservation(OwnObservation):
    file_path: str | None = None
    is_new_file: bool = False
    old_content: str | None = None
    new_content: str | None = None


class WriteFileTool(Tool[WriteFileAction]):
    name = "write_file"
    annotations = ToolAnnotations(
        title="write_file",
        readOnlyHint=False,
        destructiveHint=True,
        idempotentHint=True,
        openWorldHint=False,
    )

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(working_dir=self._working_dir)

    def claims(self, action: WriteFileAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / action.file_path),)

    def effects(self, action: WriteFileAction) -> Sequence[Effect]:
        return (Writes(action.file_path),)

    async def run(self, action: WriteFileAction) -> WriteFileObservation:
        return await asyncio.to_thread(answer, lambda: self._write(action), lambda why: _failed(action, why))

    def _write(self, action: WriteFileAction) -> WriteFileObservation:
        path = resolve(action.file_path, self._working_dir)
        old = existing_file(path) if path.exists() else None
        new = old.with_text(_with_endings_of(old, action.content)) if old else TextFile(action.content)
        write_bytes(path, new.to_bytes())
        done = "has been overwritten" if old else "has been created"
        return WriteFileObservation(
            content=[TextContent(text=f"{path} {done} ({len(new.lines)} lines).")],
            file_path=str(path),
            is_new_file=old is None,
            old_content=old.text if old else None,
            new_content=new.text,
        )


def _with_endings_of(old: TextFile, text: str) -> str:
    return text if "\r\n" in text else text.replace("\n", old.newline)


def _failed(action: WriteFileAction, reason: str) -> WriteFileObservation:
    return WriteFileObservation(content=[TextContent(text=reason)], is_error=True, file_path=action.file_path)
