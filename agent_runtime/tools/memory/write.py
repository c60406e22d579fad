"""A tool by which the agent writes memory notes. Agents of later conversations can search these notes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Writes
from agent_runtime.tools.external.mcp_format import CARRIED, Arguments, CarriedTool
from agent_runtime.tools.mcp.tool import MCPToolAction, MCPToolObservation
from agent_runtime.tools.memory import notes
from agent_runtime.tools.memory.notes import MEMORY_DIRECTORY, Note, NoteError
from agent_runtime.tools.tool import ToolAnnotations

_DESCRIPTION = f"""\
Keep a note about this project for later conversations, which begin without any knowledge of this one.

Note what took effort to find out and will hold: how to build and test, where things are, decisions and their
reasons, what the user wants done in which way. Not what the project's own files say, not how this task went,
and never passwords, keys or other secrets. One subject per note; bring an existing note up to date rather
than adding another, and delete what turned out wrong. Only what is written with this tool is kept.

`create` needs `title` and `text`, `update` what is to be replaced, `delete` only the name. Notes have at most
{notes.MAX_TEXT_BYTES // 1024} KiB; there are at most {notes.MAX_NOTES}."""


class MemoryWriteArguments(Arguments):
    command: Literal["create", "update", "delete"] = Field(description="What to do with the note.")
    name: str = Field(description="Its name: small letters, digits and hyphens, such as `running-the-tests`.")
    title: str | None = Field(
        default=None,
        description="What it tells, in one line: by this a later conversation decides whether it matters.",
    )
    text: str | None = Field(default=None, description="The whole note, in Markdown.")


class MemoryWriteTool(CarriedTool[MemoryWriteArguments]):
    name = "memory_write"
    kind = CARRIED
    description = _DESCRIPTION
    arguments_type = MemoryWriteArguments
    annotations = ToolAnnotations(
        readOnlyHint=False, destructiveHint=False, idempotentHint=True, openWorldHint=False
    )

    def __init__(self, working_dir: Path, source: str) -> None:
        """Creates the tool. `working_dir`: the directory below which memory notes are stored. `source`: the
        id of the conversation whose agent uses this tool; it is stored in each note as its origin.
        """
        self._working_dir = working_dir
        self._source = source

    def claims(self, action: MCPToolAction) -> Sequence[Claim]:
        del action
        return (file_claim(self._working_dir / MEMORY_DIRECTORY),)

    def effects(self, action: MCPToolAction) -> Sequence[Effect]:
        del action
        return (Writes(MEMORY_DIRECTORY),)

    async def run(self, action: MCPToolAction) -> MCPToolObservation:
        return await asyncio.to_thread(self._answer, self.arguments(action))

    def _answer(self, asked: MemoryWriteArguments) -> MCPToolObservation:
        try:
            return self.answer(self._do(asked))
        except NoteError as error:
            return self.answer(f"{error} Nothing was changed.", is_error=True)
        except OSError as error:
            return self.answer(f"The note cannot be written: {error.strerror}.", is_error=True)

    def _do(self, asked: MemoryWriteArguments) -> str:
        match asked.command:
            case "create":
                return self._create(asked)
            case "update":
                return self._update(asked)
            case "delete":
                return self._delete(asked.name)

    def _create(self, asked: MemoryWriteArguments) -> str:
        if notes.find_note(self._working_dir, asked.name) is not None:
            raise NoteError(f"There is a note {asked.name} already: update it, or choose another name.")
        if len(notes.read_notes(self._working_dir)) >= notes.MAX_NOTES:
            raise NoteError(f"There are {notes.MAX_NOTES} notes already. Delete or update one that is old.")
        return self._keep(asked.name, asked.title or "", asked.text or "")

    def _update(self, asked: MemoryWriteArguments) -> str:
        known = notes.find_note(self._working_dir, asked.name)
        if known is None:
            raise NoteError(f"There is no note {asked.name}: create it.")
        return self._keep(asked.name, asked.title or known.title, asked.text or known.text)

    def _keep(self, name: str, title: str, text: str) -> str:
        note = Note(
            name=name,
            title=notes.checked_title(title),
            text=notes.checked_text(text),
            created=notes.now(),
            source=self._source,
        )
        notes.write_note(self._working_dir, note)
        return f"Noted in {MEMORY_DIRECTORY}/{name}.md. Later conversations about this project will know it."

    def _delete(self, name: str) -> str:
        if not notes.delete_note(self._working_dir, name):
            raise NoteError(f"There is no note {name}.")
        return f"The note {name} is deleted."
