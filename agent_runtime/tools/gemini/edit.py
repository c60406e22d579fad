"""A tool that replaces text in a file, with the parameters that Gemini models are trained on."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Writes
from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.file_editor.replace import replace_counted
from agent_runtime.tools.file_editor.text_file import TextFile, write_bytes
from agent_runtime.tools.gemini.paths import answer, existing_file, resolve
from agent_runtime.tools.tool import CHANGES_FILES, Action, OwnObservation, Tool, ToolContext

_DESCRIPTION = """\
Replace text in a file. `old_string` must stand in the file exactly as given, blanks and indentation included,
and as often as `expected_replacements` says, once by default; otherwise nothing is changed. Give a few lines
around the change to make it unique. With an empty `old_string` a new file is created. Encoding and line
endings stay as they are. Paths are absolute, or relative to {working_dir}."""


class EditAction(Action):
    file_path: str = Field(description="The file.")
    old_string: str = Field(description="The text to replace, copied exactly; empty to create a new file.")
    new_string: str = Field(description="What stands there instead.")
    expected_replacements: int = Field(
        default=1, ge=0, description="How often `old_string` occurs; all of these are replaced. Default: 1."
    )


class EditObservation(OwnObservation):
    file_path: str | None = None
    is_new_file: bool = False
    replacements_made: int = 0
    old_content: str | None = None
    new_content: str | None = None


class EditTool(Tool[EditAction]):
    name = "edit"
    annotations = CHANGES_FILES.titled("edit")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(working_dir=self._working_dir)

    def claims(self, action: EditAction) -> Sequence[Claim]:
        return (file_claim(self._working_dir / action.file_path),)

    def effects(self, action: EditAction) -> Sequence[Effect]:
        return (Writes(action.file_path),)

    async def run(self, action: EditAction) -> EditObservation:
        return await asyncio.to_thread(answer, lambda: self._edit(action), lambda why: _failed(action, why))

    def _edit(self, action: EditAction) -> EditObservation:
        path = resolve(action.file_path, self._working_dir)
        if not action.old_string:
            return _create(path, action.new_string)
        file = existing_file(path)
        text = replace_counted(file, action.old_string, action.new_string, action.expected_replacements)
        write_bytes(path, file.with_text(text).to_bytes())
        count = action.expected_replacements
        return EditObservation(
            content=[TextContent(text=f"{path} has been edited: {count} replacement(s) made.")],
            file_path=str(path),
            replacements_made=count,
            old_content=file.text,
            new_content=text,
        )


def _create(path: Path, text: str) -> EditObservation:
    if os.path.lexists(path):
        raise EditError(f"{path} exists already: give the text to replace as `old_string`.")
    write_bytes(path, TextFile(text).to_bytes())
    return EditObservation(
        content=[TextContent(text=f"{path} has been created.")],
        file_path=str(path),
        is_new_file=True,
        replacements_made=1,
        new_content=text,
    )


def _failed(action: EditAction, reason: str) -> EditObservation:
    return EditObservation(content=[TextContent(text=reason)], is_error=True, file_path=action.file_path)
