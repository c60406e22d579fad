"""The tool `apply_patch`: changes several files by one patch. The tool applies the whole patch or nothing."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_runtime.events.content import TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Writes
from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.patch import apply
from agent_runtime.tools.patch.parse import PatchError, UpdateFile, parse_patch
from agent_runtime.tools.tool import CHANGES_FILES, Action, OwnObservation, Tool, ToolContext

_DESCRIPTION = """\
Add, change, move and delete files by one patch. Either all of it is applied or nothing.

*** Begin Patch
*** Update File: src/app.py
@@ class App:
@@     def start(self):
         self.load()
-        self.run()
+        self.run(once=True)
*** Update File: old_name.py
*** Move to: new_name.py
@@
-import app
+from src import app
*** Add File: notes.txt
+Every line of a new file begins with a plus.
*** Delete File: obsolete.py
*** End Patch

In an update each line begins with a space (stays), `-` (goes) or `+` (comes). Give about three lines of
context above and below a change, copied exactly, indentation included. Changes stand in the file's order.
Where the context is not unique, name lines above it after `@@`, such as the class and then the method.
`*** End of File` after a change says that it is at the end. Paths are relative to {working_dir}, or absolute.
Encoding and line endings of the files stay as they are."""


class ApplyPatchAction(Action):
    patch: str = Field(description="The patch, from `*** Begin Patch` to `*** End Patch`.")


class FileChange(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["add", "delete", "update"]
    old_content: str | None = None
    new_content: str | None = None
    move_path: str | None = None


class PatchResult(BaseModel):
    """The changes that a patch has made to files, by file path as written in the patch."""

    model_config = ConfigDict(frozen=True)

    changes: dict[str, FileChange] = {}


class ApplyPatchObservation(OwnObservation):
    """The result of a call of `apply_patch`. `commit`: the changes of the files; None if the call failed.

    `fuzz`: the number of lines in the patch that are not exactly equal to the lines that were found for them
    in the file. They differ only in blanks at the end of the line, or in similar characters such as different
    quotes or dashes.
    """

    message: str = ""
    fuzz: int = 0
    commit: PatchResult | None = None


class ApplyPatchTool(Tool[ApplyPatchAction]):
    name = "apply_patch"
    annotations = CHANGES_FILES.titled("apply_patch")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(working_dir=self._working_dir)

    def claims(self, action: ApplyPatchAction) -> Sequence[Claim]:
        return [file_claim(self._working_dir / path) for path in _paths_of(action)]

    def effects(self, action: ApplyPatchAction) -> Sequence[Effect]:
        return [Writes(path) for path in _paths_of(action)]

    async def run(self, action: ApplyPatchAction) -> ApplyPatchObservation:
        return await asyncio.to_thread(self._answer, action.patch)

    def _answer(self, patch: str) -> ApplyPatchObservation:
        try:
            result = apply.draft(parse_patch(patch), self._resolve)
            apply.write(result)
        except (PatchError, EditError) as error:
            return _observe(str(error), is_error=True)
        except OSError as error:
            return _observe(f"{error.filename}: {error.strerror}. Nothing was changed.", is_error=True)
        changes = [_file_change(change) for change in result.changes]
        message = "\n".join(["The patch was applied:", *(_line(change) for change in result.changes)])
        if result.fuzz:
            message += f"\n{result.fuzz} line(s) of context differed in trailing blanks or kinds of quotes."
        return _observe(message, fuzz=result.fuzz, commit=PatchResult(changes=_merged(changes)))

    def _resolve(self, path: str) -> Path:
        if "\0" in path:
            raise PatchError("A path contains a NUL character. Nothing was changed.")
        return Path(os.path.normpath(self._working_dir / path))


def _paths_of(action: ApplyPatchAction) -> list[str]:
    """Returns the file paths in the patch. Returns an empty list for a patch that cannot be parsed, because
    such a patch changes no file.
    """
    try:
        operations = parse_patch(action.patch)
    except PatchError:
        return []
    moved = [o.move_to for o in operations if isinstance(o, UpdateFile) and o.move_to]
    return [*(o.path for o in operations), *moved]


def _file_change(change: apply.PatchedFile) -> tuple[str, FileChange]:
    kind: Literal["add", "delete", "update"] = "update"
    if change.old is None:
        kind = "add"
    elif change.new is None:
        kind = "delete"
    return change.path, FileChange(
        type=kind, old_content=change.old, new_content=change.new, move_path=change.move_path
    )


def _merged(changes: Sequence[tuple[str, FileChange]]) -> dict[str, FileChange]:
    """Combines all changes of the same path into one, because a patch may update one file in several
    sections. Returns one change for each path.
    """
    merged: dict[str, FileChange] = {}
    for path, change in changes:
        first = merged.get(path)
        merged[path] = (
            change if first is None else change.model_copy(update={"old_content": first.old_content})
        )
    return merged


def _line(change: apply.PatchedFile) -> str:
    if change.old is None:
        return f"A {change.path}"
    if change.new is None:
        return f"D {change.path}"
    return f"M {change.path}" + (f" -> {change.move_path}" if change.move_path else "")


def _observe(
    message: str, *, fuzz: int = 0, commit: PatchResult | None = None, is_error: bool = False
) -> ApplyPatchObservation:
    content = [TextContent(text=message)]
    return ApplyPatchObservation(
        content=content, is_error=is_error, message=message, fuzz=fuzz, commit=commit
    )
