"""Creates and removes the directories of conversations. These directories belong to the agent server, but
some of their subdirectories belong to the user that runs the agent's commands.
"""

import os
import shutil
import stat
from pathlib import Path
from uuid import uuid4

from agent_runtime.workspace.users import (
    are_two,
    has_command_namespaces,
    is_server,
    server_files,
    show_in_command_namespaces,
)

AGENT_DIRECTORIES = ("observations", "file_history", "checkpoints.git")
"""The directories in a conversation's directory that belong to the agent: two directories in which tools
write and commands read, and a git repository.
"""
FOR_COMMANDS = ".for-commands"
"""The name of a directory beside the directories of the conversations. Commands in the command namespaces
(isolated Linux namespaces, see `command_namespaces.py`) can read this directory. In a conversation's
directory, these commands see only the subdirectories in `command_namespaces.VISIBLE_DIRECTORIES`.
"""
PASSABLE = 0o755
_SHARED = 0o770


class ForeignFileError(OSError):
    """The error that is raised when a new directory of the server contains a file that the server has not
    created. For example, a command of the agent may have put it there.
    """


def make(directory: Path) -> None:
    """Creates the directory of a conversation, if it does not exist. Only the server may change it, except
    for some subdirectories that belong to the agent. Blocks briefly. Raises OSError if the directory cannot
    be created.
    """
    if not are_two():
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if has_command_namespaces():
            for name in AGENT_DIRECTORIES:
                (directory / name).mkdir(mode=0o700, exist_ok=True)
            show_in_command_namespaces(directory.name)
        return
    if directory.exists():
        return
    draft = directory.with_name(f".new-{uuid4().hex}")
    with server_files():
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
        # The agent's user must create the directories that belong to it.
        draft.chmod(_SHARED)
    for name in AGENT_DIRECTORIES:
        (draft / name).mkdir(mode=0o700)
    with server_files():
        draft.chmod(PASSABLE)
        if {entry.name for entry in draft.iterdir()} != {*AGENT_DIRECTORIES}:
            raise ForeignFileError(f"Something else was put into {draft}.")
        draft.rename(directory)


def directory_for_commands(conversations: Path) -> Path:
    """Returns the directory in which the server writes files that the agent's commands must be able to read,
    such as the configuration of git. `conversations`: the directory with the directories of all
    conversations.

    If commands run in the command namespaces (isolated Linux namespaces for the agent's commands), this is
    the subdirectory FOR_COMMANDS, because commands see only some subdirectories of `conversations` there.
    Otherwise it is `conversations` itself.
    """
    return conversations / FOR_COMMANDS if has_command_namespaces() else conversations


def make_file(path: Path) -> None:
    """Creates an empty file that only the server's user can read; an existing file is not changed. Does
    nothing if the server and the agent's commands run as the same user. Call it in a `with server_files()`
    block, which gives the rights of the server's user.
    """
    if are_two():
        os.close(os.open(path, os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def is_of_server(path: Path) -> bool:
    """Returns whether the path is a regular file, not a link, that only the server's user can access."""
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and is_server(status.st_uid) and not status.st_mode & 0o077


def remove(directory: Path) -> None:
    """Removes the directory of a conversation with all its content. The call blocks. Raises OSError if a file
    cannot be removed.

    While this call runs, a command may add files to the subdirectories that belong to the agent. Such files
    may remain on disk. The server does not regard the remaining directory as a conversation.
    """
    if not are_two():
        shutil.rmtree(directory)
        return
    for name in AGENT_DIRECTORIES:
        shutil.rmtree(directory / name, ignore_errors=True)
    with server_files():
        for entry in [*directory.iterdir()]:
            if not entry.is_dir():
                entry.unlink()
        shutil.rmtree(directory, ignore_errors=True)
