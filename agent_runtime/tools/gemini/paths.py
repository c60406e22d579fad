"""What the four tools have in common: paths that may be relative, and failures as answers."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.file_editor.text_file import TextFile, read_text_file

ResultT = TypeVar("ResultT")


def resolve(given: str, working_dir: Path) -> Path:
    """The absolute path that is meant; EditError for what can be no path."""
    if not given or "\0" in given:
        raise EditError("The path is empty or contains a NUL character.")
    return Path(os.path.normpath(working_dir / given))


def existing_file(path: Path) -> TextFile:
    """EditError or OSError unless it is a text file that can be read."""
    if path.is_dir():
        raise EditError(f"{path} is a directory; list it with `list_directory`.")
    if not path.exists():
        raise EditError(f"There is no file {path}. Look for it with `list_directory` or `glob`.")
    return read_text_file(path)


def answer(work: Callable[[], ResultT], failed: Callable[[str], ResultT]) -> ResultT:
    """What `work` gives, or `failed` of the reason why it cannot be done."""
    try:
        return work()
    except EditError as error:
        return failed(str(error))
    except OSError as error:
        return failed(f"{error.filename}: {error.strerror}.")
    except UnicodeEncodeError:
        return failed("The path or the text contains characters that cannot be written.")
