"""The first steps of a server that is started as root: prepares the workspace for two operating system users
(one for the server, one for the agent), then gives up the rights of root.

The workspace may come from an archive, or may have been used when server and agent had the same user. So the
agent may have written any file in the workspace. Therefore no symbolic link in the workspace is followed. No
command of the agent runs yet, so no file changes during the preparation.
"""

import ctypes
import errno
import logging
import os
import pwd
import shutil
import stat
from pathlib import Path

from agent_runtime.workspace.private_tree import AGENT_DIRECTORIES, PASSABLE
from agent_runtime.workspace.users import Users, become, can_switch_files

logger = logging.getLogger(__name__)

_PR_CAPBSET_DROP = 24
_SHARED = 0o1775
_READ_BY_AGENT = 0o644
_OWN = 0o600
_LOG_FILES = ("log.sqlite", "writer.lock")


class TwoUsersError(Exception):
    """The error that is raised when the process cannot run as two users (server and agent). The text gives
    the reason.
    """


def parse_users(text: str) -> Users:
    """Parses a text with two user ids, `SERVER:AGENT`, and returns them. Raises ValueError if the text is not
    valid.
    """
    server, agent = (int(part) for part in text.split(":"))
    if min(server, agent) <= 0 or server == agent:
        raise ValueError(text)
    return Users(server, agent)


def separate(users: Users, conversations: Path) -> None:
    """Separates this server from the agent's commands: each gets a different operating system user. Makes the
    server's user the owner of the workspace directory and of the server's files in it, and gives up all
    privileges of root. Raises TwoUsersError if this is not possible.

    `users`: the ids of the two users. `conversations`: the directory of the conversations; its parent
    directory is the workspace.

    Afterwards this process runs as the server's user. It opens files of the workspace with the rights of the
    agent's user, and the server's own files with the rights of the server's user. Some kernels do not allow
    different users for the process and for its file access. Then the workspace is not prepared, this process
    runs only as the agent's user, and a warning is logged.
    """
    if os.geteuid() != 0:
        raise TwoUsersError("Only root can become two users.")
    group = _group_of(users.agent)
    is_possible = can_switch_files(users.agent)
    try:
        if is_possible:
            _prepare(conversations, users, group)
        _drop_bounding_set()
        os.setgroups([])
        os.setresgid(group, group, group)
        if is_possible:
            become(users)
        else:
            os.setresuid(users.agent, users.agent, users.agent)
    except OSError as error:
        raise TwoUsersError(f"The users of this sandbox cannot be kept apart: {error}.") from error
    if not is_possible:
        logger.warning("this runtime cannot keep commands from the agent server's own files")


def _group_of(user: int) -> int:
    try:
        return pwd.getpwuid(user).pw_gid
    except KeyError:
        return user


def _prepare(conversations: Path, users: Users, group: int) -> None:
    workspace = conversations.parent
    os.chown(workspace, users.server, group)
    # Commands may make files here; only their owner can rename or remove what is here.
    workspace.chmod(_SHARED)
    if not _is_directory(conversations):
        conversations.unlink(missing_ok=True)
        conversations.mkdir()
    for entry in list(os.scandir(conversations)):
        if entry.stat(follow_symlinks=False).st_uid != users.server:
            _take(Path(entry.path), users, group)
    os.chown(conversations, users.server, group)
    conversations.chmod(PASSABLE)


def _take(path: Path, users: Users, group: int) -> None:
    """Makes the operating system user of the server the owner of `path`, a file or directory in the directory
    of conversations. For a directory, also changes the owner of the files in it, but not of its
    subdirectories. Deletes links and pipes.

    `users`: the ids of the server's user and the agent's user. `group`: the id of the new group of `path` and
    of the files; it is the group of the agent's user.
    """
    if not _is_directory(path):
        _take_file(path, users, group, _READ_BY_AGENT)
        return
    for entry in list(os.scandir(path)):
        name = entry.name
        if not entry.is_dir(follow_symlinks=False):
            mode = _OWN if name.startswith(_LOG_FILES) else _READ_BY_AGENT
            _take_file(Path(entry.path), users, group, mode)
    for name in AGENT_DIRECTORIES:
        directory = path / name
        if not _is_directory(directory):
            directory.unlink(missing_ok=True)
            directory.mkdir(mode=0o700)
            os.chown(directory, users.agent, group)
    os.chown(path, users.server, group)
    path.chmod(PASSABLE)


def _take_file(path: Path, users: Users, group: int, mode: int) -> None:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        path.unlink()  # a link or a pipe: the server makes none
        return
    if status.st_nlink > 1:
        # The workspace may contain another name (a hard link) of this file.
        copy = path.with_name(f".{path.name}.copy")
        copy.unlink(missing_ok=True)
        shutil.copyfile(path, copy, follow_symlinks=False)
        copy.replace(path)
    os.chown(path, users.server, group, follow_symlinks=False)
    path.chmod(mode)


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _drop_bounding_set() -> None:
    """Removes all capabilities from the bounding set of this process, which limits the capabilities of child
    processes. So no child process can ever get a capability.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            number = ctypes.get_errno()
            if number == errno.EINVAL:  # past the last one
                return
            raise OSError(number, os.strerror(number))
