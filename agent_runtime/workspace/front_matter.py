"""Small text files with fields at their top. They come with a repository, so nothing in them is trusted."""

import re
from pathlib import Path
from typing import Any

MAX_FILE_BYTES = 64 * 1024

_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)


class UnusableFileError(Exception):
    """A file that cannot be loaded, and why."""


def read_text(path: Path, root: Path) -> str:
    """What a file below `root` says, not empty and of bounded size. UnusableFileError."""
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
    """The fields of the front matter, if there is one, and the text below it. UnusableFileError."""
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
    """Names of files, and escapes in YAML, may hold what UTF-8 has no bytes for."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def texts(value: object, name: str) -> tuple[str, ...]:
    """A field that is a list of texts, or one text. UnusableFileError."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise UnusableFileError(f"`{name}` in its front matter is not a list")
    return tuple(text for one in value if (text := text_of(one, name)) is not None)


def text_of(value: object, name: str) -> str | None:
    """A field that is a text, or a number. UnusableFileError."""
    # Never str() of anything else: a few lines of YAML can stand for a list with a billion members.
    if value is None:
        return None
    if not isinstance(value, str | int | float) or not is_utf8(str(value)):
        raise UnusableFileError(f"`{name}` in its front matter is not a text")
    return str(value)
