"""Reads small text files that begin with front matter (fields in YAML). The files come with a repository, so
their content is not trusted.
"""

import re
from pathlib import Path
from typing import Any

MAX_FILE_BYTES = 64 * 1024

# Blanks at the end of a line, such as "\r", do not count. They must not include "\n": if they did, the time
# would grow with the square of the number of empty lines.
_FRONT_MATTER = re.compile(r"\A---[^\S\n]*+\n(.*?)\n---[^\S\n]*+(?:\n|\Z)", re.DOTALL)


class UnusableFileError(Exception):
    """The error that is raised when a file cannot be loaded. The text says why."""


def read_text(path: Path, root: Path) -> str:
    """Returns the text of a file below `root`, without blanks at its ends. Raises UnusableFileError if the
    file is empty, larger than MAX_FILE_BYTES, not a regular file, not UTF-8, not readable, or a link to a
    file outside `root`.
    """
    if not path.is_file():  # a pipe would keep us waiting for ever
        raise UnusableFileError("it is not a file")
    if not path.resolve().is_relative_to(root.resolve()):
        raise UnusableFileError("it is a link that leads out of the project")
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UnusableFileError(f"it is larger than {MAX_FILE_BYTES // 1024} KiB")
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise UnusableFileError("it is not UTF-8 text") from error
    except OSError as error:
        raise UnusableFileError(f"it cannot be read: {error.strerror}") from error
    if not text:
        raise UnusableFileError("it is empty")
    return text


def split(text: str) -> tuple[dict[str, Any], str]:
    """Returns the fields of the front matter and the text below it. Without front matter, the fields are
    empty. Raises UnusableFileError if the front matter is not valid.
    """
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    # Loaded where the first skill is read: many projects have none.
    import yaml

    try:
        matter = yaml.safe_load(match[1]) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # as for the 99th of a month
        raise UnusableFileError("its front matter is not valid YAML") from error
    if not isinstance(matter, dict):
        raise UnusableFileError("its front matter is not a list of fields")
    return matter, text[match.end() :].strip()


def is_utf8(text: str) -> bool:
    """Returns whether the text can be encoded as UTF-8. File names and YAML escapes may contain characters
    that cannot be encoded as UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def texts(value: object, name: str) -> tuple[str, ...]:
    """Returns the texts of a field that is a list of texts or a single text. Returns an empty tuple if the
    value is None. Raises UnusableFileError for other values. `name`: the field's name, for the error.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise UnusableFileError(f"`{name}` in its front matter is not a list")
    return tuple(text for one in value if (text := text_of(one, name)) is not None)


def text_of(value: object, name: str) -> str | None:
    """Returns a field that is a text or a number, as text. Returns None if the value is None. Raises
    UnusableFileError for other values. `name`: the field's name, for the error.
    """
    # Never str() of anything else: a few lines of YAML can stand for a list with a billion members.
    if value is None:
        return None
    if not isinstance(value, str | int | float) or not is_utf8(str(value)):
        raise UnusableFileError(f"`{name}` in its front matter is not a text")
    return str(value)
