"""Applies the operations of a patch: first in memory, then on disk, either all of them or none."""

import os
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.file_editor.replace import near_miss
from agent_runtime.tools.file_editor.text_file import TextFile, read_text_file, split_lines, write_bytes
from agent_runtime.tools.patch.parse import AddFile, Chunk, DeleteFile, Operation, PatchError, UpdateFile

# Typographic characters and the plain ones that models confuse with them.
_LOOK_ALIKE = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-"),
    0xA0: " ",
}


@dataclass(frozen=True)
class PatchedFile:
    """One file that an operation of a patch changes. `path`: the path of the file in the patch, before a
    move. `move_path`: the new path if the patch moves the file, otherwise None.

    `old`, `new`: the content of the file before and after the operation; None if the file does not exist
    then.
    """

    path: str
    move_path: str | None
    old: str | None
    new: str | None


@dataclass
class Draft:
    """The result of a patch in memory, before it is written to disk. `files`: the new content by path; None
    means that the file is deleted. `moved`: the old path of each moved file, by the new path.

    `fuzz`: the number of lines in the patch that are not exactly equal to the lines that were found for them
    in the files. They differ only in blanks at the end of the line, or in similar characters such as
    different quotes or dashes.
    """

    files: dict[Path, TextFile | None] = field(default_factory=dict)
    moved: dict[Path, Path] = field(default_factory=dict)
    changes: list[PatchedFile] = field(default_factory=list)
    fuzz: int = 0


def draft(operations: Iterable[Operation], resolve: Callable[[str], Path]) -> Draft:
    """Applies the operations of a patch one after another in memory, and returns the result. Writes nothing
    to disk. `resolve`: converts a path of the patch to a path on disk. Raises PatchError if the patch does
    not fit the files. Raises EditError or OSError if a file cannot be read.
    """
    result = Draft()
    for operation in operations:
        path = resolve(operation.path)
        match operation:
            case AddFile():
                _add(result, operation, path)
            case DeleteFile():
                result.changes.append(PatchedFile(operation.path, None, _last_text(result, path), None))
                result.files[path] = None
            case UpdateFile():
                _update(result, operation, path, resolve)
    return result


def write(result: Draft) -> None:
    """Writes the result of a patch to disk.

    If a file cannot be written, restores the files that were already changed and raises OSError.
    """
    before = {path: _stored(path) for path in result.files}
    wanted = {path: _wanted(result, path) for path in result.files}
    done: list[Path] = []
    try:
        # New content first, since only writing can fail because of a full disk.
        for path in sorted(wanted, key=lambda path: wanted[path] is None):
            _put(path, wanted[path])
            done.append(path)
    except OSError:
        for path in done:
            _put(path, before[path])
        raise


@dataclass(frozen=True)
class _Stored:
    """What is written to a file: its content and its mode (permissions). `mode`: the new mode of the file. If
    it is None, an existing file keeps its mode, and a new file gets the default mode.
    """

    content: bytes
    mode: int | None = None


def _stored(path: Path) -> _Stored | None:
    return _Stored(path.read_bytes(), path.stat().st_mode & 0o7777) if path.exists() else None


def _wanted(result: Draft, path: Path) -> _Stored | None:
    file = result.files[path]
    if file is None:
        return None
    origin = result.moved.get(path)
    mode = origin.stat().st_mode & 0o7777 if origin is not None and origin.exists() else None
    return _Stored(file.to_bytes(), mode)


def _put(path: Path, file: _Stored | None) -> None:
    if file is None:
        path.unlink(missing_ok=True)
        return
    write_bytes(path, file.content)
    if file.mode is not None:
        path.chmod(file.mode)


def _add(result: Draft, operation: AddFile, path: Path) -> None:
    if _exists(result, path):
        raise PatchError(
            f"{operation.path} exists already: update it, or delete it first. Nothing was changed."
        )
    result.files[path] = TextFile(operation.text)
    result.changes.append(PatchedFile(operation.path, None, None, operation.text))


def _update(result: Draft, operation: UpdateFile, path: Path, resolve: Callable[[str], Path]) -> None:
    file = _read(result, path)
    text, fuzz = changed_text(file, operation.chunks, operation.path)
    result.fuzz += fuzz
    target = path if operation.move_to is None else resolve(operation.move_to)
    if target != path:
        if _exists(result, target):
            raise PatchError(f"{operation.move_to} exists already. Nothing was changed.")
        result.files[path] = None
        result.moved[target] = path
    result.files[target] = file.with_text(text)
    result.changes.append(PatchedFile(operation.path, operation.move_to, file.text, text))


def _exists(result: Draft, path: Path) -> bool:
    return result.files[path] is not None if path in result.files else os.path.lexists(path)


def _read(result: Draft, path: Path) -> TextFile:
    if not _exists(result, path):
        raise PatchError(f"There is no file {path}. Nothing was changed.")
    known = result.files.get(path)
    if known is None and path.is_dir():
        raise PatchError(f"{path} is a directory. Nothing was changed.")
    return known or read_text_file(path)


def _last_text(result: Draft, path: Path) -> str:
    try:
        return _read(result, path).text
    except EditError:  # what is no text can be deleted all the same
        return ""


def changed_text(file: TextFile, chunks: Sequence[Chunk], name: str) -> tuple[str, int]:
    """Applies all chunks of a patch to the text of the file. Returns the new text, and the number of lines in
    the patch that are not exactly equal to the lines that were found for them (see `Draft.fuzz`).

    `name`: the path of the file for error messages. Raises PatchError if the lines of a chunk are not found
    in the file.
    """
    lines = split_lines(file.text)
    plain = [line.removesuffix("\n").removesuffix("\r") for line in lines]
    result: list[str] = []
    position = fuzz = 0
    for number, chunk in enumerate(chunks, start=1):
        where = f"change {number} of {name}"
        start, loose = _locate(file, plain, chunk, position, where)
        result += lines[position:start]
        position = start
        fuzz += loose
        for sign, text in chunk.edits:
            if sign == "+":
                result.append(text + file.newline)
                continue
            if sign == " ":
                result.append(lines[position])
            position += 1
    result += lines[position:]
    return _joined(result, file), fuzz


def _joined(lines: list[str], file: TextFile) -> str:
    """Joins the new lines of the file and returns the text. Adds a line ending to each line that has none.

    There is one exception: if the old text is not empty and does not end with a line ending, the new text
    does not either.
    """
    ended = [line if line.endswith("\n") else line + file.newline for line in lines]
    had_no_end = file.text != "" and not file.text.endswith("\n")
    if ended and had_no_end:
        ended[-1] = ended[-1].removesuffix("\n").removesuffix("\r")
    return "".join(ended)


def _locate(file: TextFile, plain: list[str], chunk: Chunk, position: int, where: str) -> tuple[int, int]:
    """Finds the lines that a chunk of a patch replaces in the file, at or after the line index `position`.
    Returns the index of the first of these lines, and the number of lines that are not exactly equal to those
    in the chunk (see `Draft.fuzz`).

    `plain`: the lines of the file without line endings. `where`: the place in the patch, for error messages.
    Raises PatchError if the lines are not found.
    """
    start = position
    for header in chunk.headers:
        start = _find_header(file, plain, header, start, where) + 1
    old = chunk.old
    if not old:
        return (start if chunk.headers and not chunk.is_at_end else len(plain)), 0
    # Some models repeat the header's line as the first line of context.
    earliest = max(position, start - 1) if chunk.headers else start
    candidates = [start, *range(earliest, start), *range(start + 1, len(plain) - len(old) + 1)]
    if chunk.is_at_end:
        candidates.insert(0, len(plain) - len(old))
    found = _best(plain, old, [at for at in candidates if at >= earliest])
    if found is None:
        raise _not_found(file, plain, old, earliest, where)
    return found


def _find_header(file: TextFile, plain: list[str], header: str, start: int, where: str) -> int:
    exact = _best(plain, [header], range(start, len(plain)))
    if exact is not None:
        return exact[0]
    for index in range(start, len(plain)):
        if plain[index].strip() == header.strip():
            return index
    raise _not_found(file, plain, [header], start, f"the line after `@@` for {where}")


def _best(plain: list[str], old: list[str], candidates: Sequence[int]) -> tuple[int, int] | None:
    simpler: tuple[Callable[[str], str], ...] = (lambda line: line, str.rstrip, _plain_punctuation)
    for simplify in simpler:
        wanted = [simplify(line) for line in old]
        simple = [simplify(line) for line in plain]
        for at in candidates:
            if simple[at : at + len(wanted)] == wanted:
                return at, sum(a != b for a, b in zip(plain[at : at + len(old)], old, strict=True))
    return None


def _plain_punctuation(line: str) -> str:
    return unicodedata.normalize("NFC", line).translate(_LOOK_ALIKE).rstrip()


def _not_found(file: TextFile, plain: list[str], old: list[str], start: int, where: str) -> PatchError:
    earlier = _best(plain, old, range(start))
    if earlier is not None:
        hint = f" They stand at line {earlier[0] + 1}, before the place of the change above: mind the order."
    else:
        hint = near_miss(file, "\n".join(old))
    quoted = "\n".join(old[:20])
    return PatchError(f"The lines of {where} were not found. Nothing was changed.\n{quoted}\n{hint.strip()}")
