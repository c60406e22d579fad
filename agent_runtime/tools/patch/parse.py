"""Parses the text of a patch into operations. Each operation adds, changes, moves or deletes one file."""

import re
from dataclasses import dataclass

BEGIN = "*** Begin Patch"
END = "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"
# Line numbers of unified diffs are ignored: the lines themselves determine the place better.
_LINE_NUMBERS = re.compile(r"-\d+(,\d+)? \+\d+(,\d+)?($| @@)")


class PatchError(Exception):
    """The error that is raised when the patch cannot be applied. The text tells the model where and why. No
    file was changed.
    """


@dataclass(frozen=True)
class Chunk:
    """One part of a patch: lines to find in a file, and the lines that replace them.

    `headers`: lines above the replaced lines, such as the lines of the class and the function, outermost
    first. `edits`: pairs of a sign (" " for an unchanged, "-" for a removed, "+" for an added line) and the
    line. `is_at_end`: whether the lines must be at the end of the file.
    """

    headers: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    is_at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [line for sign, line in self.edits if sign != "+"]


@dataclass(frozen=True)
class AddFile:
    path: str
    text: str


@dataclass(frozen=True)
class DeleteFile:
    path: str


@dataclass(frozen=True)
class UpdateFile:
    path: str
    move_to: str | None
    chunks: tuple[Chunk, ...]


Operation = AddFile | DeleteFile | UpdateFile


def parse_patch(text: str) -> list[Operation]:
    """Parses the patch `text` and returns its operations (changes of single files), at least one. Raises
    PatchError if the text is not a valid patch.

    Ignores the lines before `*** Begin Patch` and after `*** End Patch`. Some models write such lines, for
    example the shell command `apply_patch <<'EOF'`.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    stripped = [line.strip() for line in lines]
    if BEGIN not in stripped:
        raise PatchError(f"The patch has no line `{BEGIN}`; it must begin with one.")
    first = stripped.index(BEGIN)
    if END not in stripped[first:]:
        raise PatchError(f"The patch has no line `{END}`. It may have been cut off: send all of it again.")
    reader = _Reader(lines[: stripped.index(END, first)], first + 1)
    operations = []
    reader.skip_empty_lines()
    while not reader.is_done:
        operations.append(_operation(reader))
        reader.skip_empty_lines()
    if not operations:
        raise PatchError("The patch changes no file.")
    return operations


@dataclass
class _Reader:
    lines: list[str]
    position: int

    def skip_empty_lines(self) -> None:
        while self.position < len(self.lines) and self.lines[self.position] == "":
            self.position += 1

    @property
    def is_done(self) -> bool:
        return self.position == len(self.lines)

    @property
    def is_section_over(self) -> bool:
        """Whether only empty lines remain in the current section (the part of the patch about one file)."""
        following = self.position
        while following < len(self.lines) and self.lines[following] == "":
            following += 1
        return following == len(self.lines) or self.lines[following].startswith((_ADD, _DELETE, _UPDATE))

    def peek(self) -> str:
        return self.lines[self.position]

    def take(self) -> str:
        self.position += 1
        return self.lines[self.position - 1]

    def fail(self, reason: str) -> PatchError:
        line = self.lines[self.position] if self.position < len(self.lines) else END
        return PatchError(
            f"Line {self.position + 1} of the patch, {line[:200]!r}: {reason} Nothing was changed."
        )


def _operation(reader: _Reader) -> Operation:
    line = reader.peek()
    if line.startswith(_ADD):
        reader.take()
        return AddFile(_path(line, _ADD), _added_text(reader))
    if line.startswith(_DELETE):
        reader.take()
        return DeleteFile(_path(line, _DELETE))
    if line.startswith(_UPDATE):
        reader.take()
        return _update(reader, _path(line, _UPDATE))
    raise reader.fail(f"expected `{_ADD}PATH`, `{_UPDATE}PATH`, `{_DELETE}PATH` or `{END}`.")


def _path(line: str, prefix: str) -> str:
    path = line.removeprefix(prefix).strip()
    if not path:
        raise PatchError(f"`{prefix.strip()}` names no file. Nothing was changed.")
    return path


def _added_text(reader: _Reader) -> str:
    lines = []
    while not reader.is_section_over:
        if not reader.peek().startswith("+"):
            raise reader.fail("every line of a new file begins with `+`.")
        lines.append(reader.take()[1:])
    return "".join(f"{line}\n" for line in lines)


def _update(reader: _Reader, path: str) -> UpdateFile:
    move_to = None
    if not reader.is_section_over and reader.peek().startswith(_MOVE):
        move_to = _path(reader.take(), _MOVE)
    chunks = []
    while not reader.is_section_over:
        chunks.append(_chunk(reader))
    if not chunks and move_to is None:
        raise reader.fail(f"the update of {path} has no changes.")
    return UpdateFile(path, move_to, tuple(chunks))


def _chunk(reader: _Reader) -> Chunk:
    headers = []
    while not reader.is_section_over and reader.peek().startswith("@@"):
        header = reader.take()[2:].removeprefix(" ").removesuffix(" @@")
        if header and not _LINE_NUMBERS.match(header):
            headers.append(header)
    edits: list[tuple[str, str]] = []
    is_at_end = False
    while not (is_at_end or reader.is_section_over or reader.peek().startswith("@@")):
        if is_at_end := reader.peek().rstrip() == _END_OF_FILE:
            reader.take()
        else:
            edits.append(_edit(reader))
    if not edits:
        raise reader.fail("a change needs lines that begin with a space, `-` or `+`.")
    return Chunk(tuple(headers), tuple(edits), is_at_end)


def _edit(reader: _Reader) -> tuple[str, str]:
    line = reader.peek()
    if line and line[0] not in " -+":
        raise reader.fail("lines of an update begin with a space (context), `-` (old) or `+` (new).")
    reader.take()
    # Models often leave out the space of empty context lines.
    return (line[0], line[1:]) if line else (" ", "")
