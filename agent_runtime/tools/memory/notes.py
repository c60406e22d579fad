"""Stores notes that the agent writes for later conversations. Each note is a file in `.agents/memory` of the
working directory.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from agent_runtime.workspace.front_matter import UnusableFileError, is_utf8, read_text, split, text_of
from agent_runtime.workspace.local import replacing

MEMORY_DIRECTORY = ".agents/memory"
MAX_NOTES = 200
MAX_TEXT_BYTES = 8 * 1024
MAX_TITLE_CHARS = 120
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class NoteError(Exception):
    """The error that is raised when a memory note (a text that an agent writes for later conversations)
    cannot be written, changed or removed. The error's text is written for the model.
    """


class Note(BaseModel):
    """A note that an agent has written for later conversations. `name`: the file name without its ending.
    `created`: the time, ISO 8601. `source`: the id of the conversation in which the note was written.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    title: str
    text: str
    created: str | None = None
    source: str | None = None


def _unheard(_path: Path, _why: str) -> None:
    return


def read_notes(working_dir: Path, report: Callable[[Path, str], None] = _unheard) -> list[Note]:
    """Returns all memory notes (texts that agents write for later conversations) below `working_dir`, sorted
    by name, up to MAX_NOTES. The call blocks.

    `report`: a function that is called with each file that is left out, and the reason: the file is not a
    valid note, or there are more than MAX_NOTES files.
    """
    found: list[Note] = []
    paths = _files(working_dir)
    for path in paths[:MAX_NOTES]:
        try:
            found.append(_read(path, working_dir))
        except UnusableFileError as error:
            report(path, str(error))
    for path in paths[MAX_NOTES:]:
        report(path, f"there are more than {MAX_NOTES} notes")
    return found


def find_note(working_dir: Path, name: str) -> Note | None:
    """Returns the memory note (a text that an agent writes for later conversations) with this name below
    `working_dir`. Returns None if there is no such file. The call blocks.

    Raises NoteError if the file with this name is not a valid note.
    """
    path = _path(working_dir, name)
    if not path.exists():
        return None
    try:
        return _read(path, working_dir)
    except UnusableFileError as error:
        raise NoteError(f"The note {name} cannot be used: {error}.") from error


def write_note(working_dir: Path, note: Note) -> None:
    """Atomically creates or replaces the file of a memory note (a text that an agent writes for later
    conversations) below `working_dir`. The call blocks. Raises NoteError if the name is not valid. Raises
    OSError if the file cannot be written.
    """
    path = _path(working_dir, note.name)
    with replacing(path) as file:
        file.write(_render(note).encode())


def delete_note(working_dir: Path, name: str) -> bool:
    """Deletes the memory note (a text that an agent writes for later conversations) with this name below
    `working_dir`, and returns True. Returns False if there is no such note. The call blocks. Raises NoteError
    if the name is not valid. Raises OSError if the file cannot be deleted.
    """
    path = _path(working_dir, name)
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def checked_title(title: str) -> str:
    """Checks the title of a memory note and returns it as one line, with single spaces in place of line
    breaks. Raises NoteError if the title is empty or too long.
    """
    line = " ".join(title.split())
    if not line or len(line) > MAX_TITLE_CHARS:
        raise NoteError(f"A note needs a `title` of at most {MAX_TITLE_CHARS} characters.")
    return line


def checked_text(text: str) -> str:
    """Returns the text of a memory note without blanks at its ends. Raises NoteError if the text is empty or
    too long.
    """
    size = len(text.encode(errors="replace"))
    if not text.strip() or size > MAX_TEXT_BYTES:
        raise NoteError(f"A note needs a `text` of at most {MAX_TEXT_BYTES} bytes; this one has {size}.")
    return text.strip()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _path(working_dir: Path, name: str) -> Path:
    if not NAME.fullmatch(name):
        raise NoteError("The `name` of a note has small letters, digits and hyphens only, at most 64.")
    directory = working_dir / MEMORY_DIRECTORY
    path = directory / f"{name}.md"
    # A repository may hold links: a note must not become a way to write somewhere else.
    if path.is_symlink() or not directory.resolve().is_relative_to(working_dir.resolve()):
        raise NoteError(f"{path} is a link, and notes are not written through links.")
    return path


def _files(working_dir: Path) -> list[Path]:
    directory = working_dir / MEMORY_DIRECTORY
    try:
        names = [path for path in directory.iterdir() if path.suffix == ".md" and is_utf8(path.name)]
    except OSError:  # there is none, as in most projects
        return []
    return sorted(names)


def _read(path: Path, root: Path) -> Note:
    if not NAME.fullmatch(path.stem):
        raise UnusableFileError("its name is not one of small letters, digits and hyphens")
    fields, text = split(read_text(path, root))
    try:
        title = checked_title(text_of(fields.get("title"), "title") or path.stem)
        body = checked_text(text)
    except NoteError as error:
        raise UnusableFileError(str(error)) from error
    source = text_of(fields.get("source"), "source")
    return Note(name=path.stem, title=title, text=body, created=_moment(fields.get("created")), source=source)


def _moment(value: object) -> str | None:
    # YAML parses texts that look like a time as times.
    return value.isoformat() if isinstance(value, date) else text_of(value, "created")


def _render(note: Note) -> str:
    fields = {"title": note.title, "created": note.created, "source": note.source}
    # JSON texts are YAML texts, whatever characters they hold.
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value is not None]
    return "\n".join(["---", *lines, "---", "", note.text, ""])
