"""The file editor tool, with the commands view, create, replace, insert and undo."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.tools.claims import Claim, file_claim
from agent_runtime.tools.effects import Effect, Reads, Writes
from agent_runtime.tools.file_editor.changed_lines import ChangedLines
from agent_runtime.tools.file_editor.description import DESCRIPTION
from agent_runtime.tools.file_editor.history import EditHistory, digest
from agent_runtime.tools.file_editor.models import (
    EditError,
    FileEditorAction,
    FileEditorObservation,
    Replacement,
)
from agent_runtime.tools.file_editor.notebook import show_notebook
from agent_runtime.tools.file_editor.replace import replace_all, replace_once
from agent_runtime.tools.file_editor.text_file import (
    TextFile,
    decode,
    read_text_file,
    split_lines,
    write_bytes,
)
from agent_runtime.tools.file_editor.view import (
    MAX_VIEW_CHARS,
    numbered,
    show_directory,
    show_file,
)
from agent_runtime.tools.image_file import read_image
from agent_runtime.tools.tool import CHANGES_FILES, Tool, ToolContext
from agent_runtime.tools.truncate import truncate_middle
from agent_runtime.tools.unchanged import is_unchanged

_CONTEXT_LINES = 4

RequiredT = TypeVar("RequiredT")


class FileEditorTool(Tool[FileEditorAction]):
    name = "file_editor"
    annotations = CHANGES_FILES.titled("file_editor")

    def __init__(self, context: ToolContext) -> None:
        self._working_dir = context.working_dir
        self._history = EditHistory(context.state_dir / "file_history")

    @property
    def description(self) -> str:
        return DESCRIPTION.format(working_dir=self._working_dir, max_chars=MAX_VIEW_CHARS)

    def claims(self, action: FileEditorAction) -> Sequence[Claim]:
        return (file_claim(Path(action.path), is_shared=action.command == "view"),)

    def is_unchanged(self, action: FileEditorAction, since: float) -> bool:
        return action.command == "view" and is_unchanged(Path(action.path), since, self._working_dir)

    def effects(self, action: FileEditorAction) -> Sequence[Effect]:
        return (Reads(action.path) if action.command == "view" else Writes(action.path),)

    async def run(self, action: FileEditorAction) -> FileEditorObservation:
        return await asyncio.to_thread(self._answer, action)

    def _answer(self, action: FileEditorAction) -> FileEditorObservation:
        try:
            return self._do(action, self._absolute(action.path))
        except EditError as error:
            return _failed(action, str(error))
        except OSError as error:
            return _failed(action, f"{action.command} of {action.path} failed: {error.strerror}.")
        except UnicodeEncodeError:
            return _failed(action, "The path contains characters that no file name can have.")

    def _do(self, action: FileEditorAction, path: Path) -> FileEditorObservation:
        match action.command:
            case "view":
                return self._view(action, path)
            case "create":
                return self._create(action, path)
            case "str_replace":
                return self._str_replace(action, path)
            case "insert":
                return self._insert(action, path)
            case "undo_edit":
                return self._undo_edit(action, path)

    def _absolute(self, given: str) -> Path:
        if "\0" in given:
            raise EditError("The path contains a NUL character.")
        if not os.path.isabs(given):  # noqa: PTH117 (a Path would hide an empty one)
            meant = os.path.normpath(self._working_dir / given)
            raise EditError(f"The path {given!r} is relative. Use the absolute one, such as {meant}.")
        return Path(os.path.normpath(given))

    def _view(self, action: FileEditorAction, path: Path) -> FileEditorObservation:
        if path.is_dir():
            if action.view_range is not None:
                raise EditError("`view_range` is for files; this is a directory.")
            return _viewed(action, TextContent(text=show_directory(path)))
        if image := read_image(path):
            return _viewed(action, TextContent(text=f"{path}:"), ImageContent(image_urls=[image.url]))
        file = read_text_file(path)
        if path.suffix == ".ipynb" and action.view_range is None:
            cells = show_notebook(path, file.text, MAX_VIEW_CHARS)
            if cells is not None:
                return _viewed(action, TextContent(text=cells))
        return _viewed(action, TextContent(text=show_file(path, file.lines, action.view_range)))

    def _create(self, action: FileEditorAction, path: Path) -> FileEditorObservation:
        text = _required(action.file_text, "file_text", action)
        if os.path.lexists(path):
            if action.overwrite and path.is_file():
                return self._overwrite(action, path, text)
            what = "a directory" if path.is_dir() else "a file"
            raise EditError(
                f"{path} exists already and is {what}. Use `str_replace` to change a file, or `overwrite` to "
                "replace all of it."
            )
        self._write(path, None, TextFile(text).to_bytes())
        return FileEditorObservation(
            content=[TextContent(text=f"File created successfully at: {path}")],
            command=action.command,
            path=str(path),
            prev_exist=False,
            new_content=text,
        )

    def _overwrite(self, action: FileEditorAction, path: Path, text: str) -> FileEditorObservation:
        before = path.read_bytes()
        self._write(path, before, TextFile(text).to_bytes())
        try:
            old = decode(before, path).text
        except EditError:
            old = None  # it was no text
        return FileEditorObservation(
            content=[TextContent(text=f"The whole content of {path} has been replaced.")],
            command=action.command,
            path=str(path),
            old_content=old,
            new_content=text,
        )

    def _str_replace(self, action: FileEditorAction, path: Path) -> FileEditorObservation:
        if action.edits:
            return self._replace_several(action, path, action.edits)
        old, new = _required(action.old_str, "old_str", action), action.new_str or ""
        file = _existing(path)
        if action.replace_all:
            text, line, times = replace_all(file, old, new)
            note = f"{times} occurrences were replaced, the first of them here. " if times > 1 else ""
        else:
            (text, line), note = replace_once(file, old, new), ""
        return self._edit(action, path, file, text, line=line, count=new.count("\n") + 1, note=note)

    def _replace_several(
        self, action: FileEditorAction, path: Path, edits: Sequence[Replacement]
    ) -> FileEditorObservation:
        file = _existing(path)
        changed, edited_lines, total = file, ChangedLines(), 0
        for number, edit in enumerate(edits, start=1):
            try:
                if edit.replace_all:
                    text, line, times = replace_all(changed, edit.old_str, edit.new_str)
                else:
                    (text, line), times = replace_once(changed, edit.old_str, edit.new_str), 1
            except EditError as error:
                raise EditError(
                    f"Edit {number} of {len(edits)}: {error} No edit of this call was made."
                ) from error
            edited_lines.add(
                line, old_lines=edit.old_str.count("\n") + 1, new_lines=edit.new_str.count("\n") + 1
            )
            changed, total = changed.with_text(text), total + times
        self._write(path, file.to_bytes(), changed.to_bytes())
        shown = truncate_middle(edited_lines.show(changed.lines, _CONTEXT_LINES), MAX_VIEW_CHARS)
        return FileEditorObservation(
            content=[TextContent(text=f"{path} has been edited in {total} places. It now reads:\n{shown}")],
            command=action.command,
            path=str(path),
            old_content=file.text,
            new_content=changed.text,
        )

    def _insert(self, action: FileEditorAction, path: Path) -> FileEditorObservation:
        new = _required(action.new_str, "new_str", action)
        after = _required(action.insert_line, "insert_line", action)
        file = _existing(path)
        lines = split_lines(file.text)
        if after > len(lines):
            raise EditError(f"`insert_line` is {after}, but the file has lines 0 to {len(lines)}.")
        new_lines = new.replace("\r\n", "\n").removesuffix("\n").split("\n")
        inserted = "".join(f"{line}{file.newline}" for line in new_lines)
        before = "".join(lines[:after])
        if before and not before.endswith("\n"):
            before += file.newline
        text = before + inserted + "".join(lines[after:])
        return self._edit(action, path, file, text, line=after + 1, count=len(new_lines))

    def _undo_edit(self, action: FileEditorAction, path: Path) -> FileEditorObservation:
        edit = self._history.last(path)
        if not edit:
            raise EditError(f"There is no edit of {path} to undo.")
        current = path.read_bytes() if path.exists() else None
        if current is None or digest(current) != edit.after_sha256:
            raise EditError(
                f"{path} was changed since by other means than this tool; undoing would lose that. "
                "View it and edit it instead."
            )
        if edit.before is None:
            path.unlink()
        else:
            write_bytes(path, edit.before)
        self._history.drop_last(path)
        done = "removed, as the edit had created it" if edit.before is None else "restored"
        return FileEditorObservation(
            content=[TextContent(text=f"The last edit of {path} is undone: the file is {done}.")],
            command=action.command,
            path=str(path),
            old_content=decode(current, path).text,
            new_content=None if edit.before is None else decode(edit.before, path).text,
        )

    def _edit(
        self,
        action: FileEditorAction,
        path: Path,
        file: TextFile,
        text: str,
        *,
        line: int,
        count: int,
        note: str = "",
    ) -> FileEditorObservation:
        """Writes the new content `text` to the file and returns the result for the model. Also stores the old
        content, so that the edit can be undone. The result contains `note` and the changed lines, with some
        unchanged lines before and after them.

        `file`: the content before the edit. `line`: the number of the first changed line, counted from 1.
        `count`: the number of changed lines in the new content.
        """
        edited = file.with_text(text)
        self._write(path, file.to_bytes(), edited.to_bytes())
        lines = edited.lines
        first, last = max(1, line - _CONTEXT_LINES), min(len(lines), line + count - 1 + _CONTEXT_LINES)
        shown = truncate_middle(numbered(lines, first, last), MAX_VIEW_CHARS)
        current_content = f"Lines {first} to {last} are now:\n{shown}" if lines else "It is empty now."
        return FileEditorObservation(
            content=[TextContent(text=f"{path} has been edited. {note}{current_content}")],
            command=action.command,
            path=str(path),
            old_content=file.text,
            new_content=text,
        )

    def _write(self, path: Path, before: bytes | None, after: bytes) -> None:
        write_bytes(path, after)
        self._history.push(path, before, after)


def _existing(path: Path) -> TextFile:
    if path.is_dir():
        raise EditError(f"{path} is a directory; only `view` works on directories.")
    return read_text_file(path)


def _required(value: RequiredT | None, name: str, action: FileEditorAction) -> RequiredT:
    if value is None:
        raise EditError(f"`{action.command}` needs `{name}`.")
    return value


def _viewed(action: FileEditorAction, *content: Content) -> FileEditorObservation:
    return FileEditorObservation(content=list(content), command=action.command, path=action.path)


def _failed(action: FileEditorAction, reason: str) -> FileEditorObservation:
    return FileEditorObservation(
        content=[TextContent(text=reason)], is_error=True, command=action.command, path=action.path
    )
