"""Writes a small file atomically: a reader finds the old or the new content, never a part."""

import os
import tempfile
from pathlib import Path

from agent_runtime.workspace.users import are_two, server_files


def replace_file(
    path: Path, content: bytes, *, is_for_commands: bool = False, is_program: bool = False
) -> None:
    """Writes the file atomically. The file belongs to the server's operating system user. The call blocks.
    Raises OSError if the file cannot be written.

    `is_for_commands`: whether commands of the agent may read the file. `is_program`: whether the file is
    executable. Several callers may write at the same time: each writes a separate temporary file, and the
    last caller to finish determines the content.
    """
    with server_files():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".partial")
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                mode = 0o644 if is_for_commands and are_two() else 0o600
                # Users who may read a program may also start it.
                os.fchmod(handle, mode | (mode & 0o444) >> 2 if is_program else mode)
                file.write(content)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def read_file(path: Path) -> bytes:
    """Returns the content of a file that the server has written. The call blocks. Raises OSError if the file
    cannot be read.
    """
    with server_files():
        return path.read_bytes()
