"""Reads and writes text files without changing their encoding or line endings."""

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from agent_runtime.tools.file_editor.encoding import guess_encoding
from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.workspace.local import replacing

MAX_FILE_BYTES = 10 * 1024 * 1024
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class TextFile:
    """The content of a text file. `text`: the content with its original line endings. `mark`: the bytes of
    the byte order mark at the beginning of the file; empty if there is none.

    The property `newline` is the line ending that most lines of the file have. Inserted lines get it,
    too.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    @property
    def lines(self) -> list[str]:
        """The lines of the file, each without its line ending."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def with_text(self, text: str) -> "TextFile":
        return replace(self, text=text)

    def to_bytes(self) -> bytes:
        """Returns the whole content of the file as bytes: the byte order mark, and the text in the file's
        encoding. Raises EditError if the text has a character that this encoding cannot represent.
        """
        try:
            return self.mark + self.text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = self.text[error.start]
            raise EditError(
                f"The file is encoded as {self.encoding}, which has no {character!r}. Nothing was changed. "
                "Leave such characters out, or convert the file first, for example with iconv."
            ) from error


def read_text_file(path: Path) -> TextFile:
    """Reads a text file and returns its content. Raises EditError if the file is too large or not a text
    file. Raises OSError if the file cannot be read.
    """
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise EditError(
            f"{path} has {size:,} bytes; files of more than {MAX_FILE_BYTES:,} are left to the terminal "
            "(head, sed -n, grep)."
        )
    return decode(path.read_bytes(), path)


def decode(data: bytes, path: Path) -> TextFile:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return TextFile(data[len(mark) :].decode(encoding, "surrogatepass"), encoding, mark)
    if b"\0" in data[:8192]:
        raise EditError(f"{path} is a binary file ({len(data):,} bytes). Use the terminal to look into it.")
    try:
        return TextFile(data.decode("utf-8"))
    except UnicodeDecodeError:
        encoding = guess_encoding(data)
        return TextFile(data.decode(encoding), encoding)


def split_lines(text: str) -> list[str]:
    """Splits the text into lines and returns them with their line endings. A line ends only with a line feed
    (also after a carriage return). str.splitlines also splits at other characters, such as form feeds.
    """
    return _LINE.findall(text)


def write_bytes(path: Path, data: bytes) -> None:
    """Replaces the whole content of the file by `data`, or creates the file. After a crash, the file has
    either the old or the new content.
    """
    with replacing(path) as file:
        file.write(data)
