"""Functions that the tools for Gemini models share: they resolve relative paths, and return errors as
results.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from agent_runtime.tools.file_editor.models import EditError
from agent_runtime.tools.file_editor.text_file import TextFile, read_text_file

ResultT = TypeVar("ResultT")


def resolve(given: str, working_dir: Path) -> Path:
    """Returns the absolute path of `given`. Raises EditError if `given` is not a valid path."""
    if not given or "\0" in given:
        raise EditError("The path is empty or contains a NUL character.")
    return Path(os.path.normpath(working_dir / given))


def existing_file(path: Path) -> TextFile:
    """Reads a text file and returns its content. Raises EditError if the file does not exist or is not a text
    file. Raises OSError if the file cannot be read.
    """
    if path.is_dir():
        raise EditError(f"{path} is a directory; list it with `list_directory`.")
    if not path.exists():
        raise EditError(f"There is no file {path}. Look for it with `list_directory` or `glob`.")
    return read_text_file(path)


def answer(work: Callable[[], ResultT], failed: Callable[[str], ResultT]) -> ResultT:
    """Calls the function `work` and returns its result. If `work` raises an error, calls `failed` with the
    reason as text and returns the result of `failed`.
    """
    try:
        return work()
    except EditError as error:
        return failed(str(error))
    except OSError as error:
        return failed(f"{error.filename}: {error.strerror}.")
    except UnicodeEncodeError:
        return failed("The path or the text contains characters that cannot be written.")
