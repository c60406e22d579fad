"""Creates the command namespaces: the isolated Linux namespaces of one sandbox in which the agent's commands
run. They have processes, IPC, mounts and a network that are separate from the agent server's.

There, commands cannot see the server's processes or files, such as its logs and its keys. The spawner (module
`spawner`) is the process that starts programs there at the request of the server. It is outside of the
commands' process namespace, so commands cannot see it either.

The network of the commands has only a loopback interface. To listen or connect in this network, the server
uses sockets that it gets from the spawner (module `network`).

The machine needs no additional user for this, and the sandbox needs no rights outside of itself. The server
starts with some rights inside its sandbox. It gives them up when the command namespaces have been created.

`python -m agent_runtime.workspace.command_namespaces CONVERSATIONS` tests whether the command namespaces can
be created.
"""

import os
import signal
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.workspace import namespaces, spawner
from agent_runtime.workspace.private_tree import FOR_COMMANDS

SERVER_DIRECTORY = Path("/run/agent-server")
"""A directory that only the server can see. In the command namespaces, /run is empty."""
VISIBLE_DIRECTORIES = {"observations": True, "checkpoints.git": False}
"""The directories of each conversation that are visible in the command namespaces. The value for a directory
is True if commands can only read it, and False if they can also write to it.
"""
_WHOLE_PROC = Path("/run/proc")
"""Where the machine's complete /proc is mounted. The kernel allows the mount of a new /proc in the command
namespaces only while a complete /proc is visible. After this mount, an empty directory is mounted over the
complete /proc.
"""
_HIDDEN = Path("/run/conversations")
_READY = b"ready"

Show = Callable[[str], None]


class CommandNamespacesError(Exception):
    """The error that is raised when commands cannot be isolated on this machine. The text says why."""


@dataclass(frozen=True)
class CommandNamespaces:
    """The command namespaces that were created: the isolated Linux namespaces for the agent's commands.
    `spawner`: the path of the socket of the spawner, the process that starts programs in the command
    namespaces. `spawner_pid`: the id of the spawner process.
    """

    spawner: Path
    spawner_pid: int


def create_command_namespaces(conversations: Path) -> CommandNamespaces:
    """Creates the command namespaces (isolated Linux namespaces for the agent's commands) and returns them.
    `conversations`: the directory with the directories of all conversations. This process must have only one
    thread. After the call, it has no capabilities (special rights). Raises CommandNamespacesError if the
    command namespaces cannot be created.
    """
    address = SERVER_DIRECTORY / "spawner"
    try:
        (conversations / FOR_COMMANDS).mkdir(mode=0o700, parents=True, exist_ok=True)
        SERVER_DIRECTORY.mkdir(mode=0o700)
        namespaces.unshare(namespaces.NEW_MOUNTS)
        namespaces.receive_mounts_only()
        pid, said = _fork(lambda tell: _spawn_for(address, conversations, tell))
        if _WHOLE_PROC.exists():
            namespaces.mount_new("tmpfs", _WHOLE_PROC, "mode=0500,size=4k")
        namespaces.give_up_all()
    except OSError as error:
        raise CommandNamespacesError(
            f"The commands of this sandbox cannot be kept apart: {error}."
        ) from error
    if said != _READY:
        raise CommandNamespacesError(
            f"The commands of this sandbox cannot be kept apart: {said.decode(errors='replace')}"
        )
    return CommandNamespaces(address, pid)


def _fork(work: Callable[[int], None]) -> tuple[int, bytes]:
    """Starts a child process that runs `work`, and waits for the first message from the child. Returns the
    process id of the child and this message.

    `work`: a function that runs in the child and does not return. Its argument is the file descriptor of the
    pipe to this process. The function must write the first message to the pipe and then close the pipe. If
    the function raises an error, the text of the error is sent as the message.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            work(writer)
        except BaseException as error:  # noqa: BLE001 (the interpreter must not go on with the server's code)
            sys.excepthook(*sys.exc_info())
            with suppress(OSError):  # the pipe may be closed already
                os.write(writer, f"{error}.".encode())
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        return pid, pipe.read(65536)


def _spawn_for(address: Path, conversations: Path, tell: int) -> None:
    _leave_files_of_server(tell)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(address))
    listener.listen(64)
    first, show = _enter_new_namespaces(conversations)
    namespaces.end_with_parent()
    os.write(tell, _READY)
    # Closes the pipe but keeps the number in use, so that `_fork` cannot write to another file.
    os.dup2(0, tell)
    spawner.serve(listener, show, first)


def _leave_files_of_server(*retained_descriptors: int) -> None:
    """Closes the open files of the server, except those with the descriptors `retained_descriptors`. This
    also closes the socket on which the server listens, and the pipe from which it reads its session key (the
    key that clients must send).
    """
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 (a descriptor is wanted)
        os.dup2(nothing.fileno(), 0)
    for number in range(3, 1024):
        if number not in retained_descriptors:
            try:
                os.close(number)
            except OSError:
                continue


def _enter_new_namespaces(conversations: Path) -> tuple[int, Show]:
    """Creates the command namespaces (isolated Linux namespaces for the agent's commands) and moves this
    process into their mounts, network and IPC. This process stays outside of their process namespace.

    Returns the pid of the first process of the command namespaces, and a function `show`. A call of `show`
    with the name of a conversation's directory makes the conversation's directories visible to commands.
    """
    # Opened now and used by its number: soon, /proc is the one of the command namespaces. It does not show
    # this process.
    own = os.open(f"/proc/{os.getpid()}/ns", os.O_RDONLY)
    kinds = namespaces.NEW_MOUNTS | namespaces.NEW_IPC | namespaces.NEW_PIDS | namespaces.NEW_NETWORK
    namespaces.unshare(kinds)
    namespaces.start_loopback()
    namespaces.hide_from_others()
    namespaces.receive_mounts_only()
    first, said = _fork(_run_first_process)
    if said != _READY:
        raise OSError(said.decode(errors="replace"))
    namespaces.protect_proc()
    namespaces.mount_new("tmpfs", Path("/run"), "mode=0755,size=1m")
    _HIDDEN.mkdir()
    namespaces.mount_again(conversations, _HIDDEN)
    namespaces.mount_new("tmpfs", conversations, "mode=0755,size=16m")
    namespaces.share(conversations)
    for entry in os.listdir(_HIDDEN):  # noqa: PTH208 (names are wanted)
        _show(conversations, entry)
    behind = os.open("mnt", os.O_RDONLY, dir_fd=own)
    namespaces.unshare(namespaces.NEW_MOUNTS)
    namespaces.receive_mounts_only()
    namespaces.unmount(_HIDDEN)
    namespaces.mount_new("tmpfs", Path("/run"), "mode=0555,size=4k")
    namespaces.make_read_only(conversations)
    inside = os.open("mnt", os.O_RDONLY, dir_fd=own)
    os.close(own)
    namespaces.give_up_for_programs()

    def show(name: str) -> None:
        namespaces.enter_mounts(behind)
        try:
            _show(conversations, name)
        finally:
            namespaces.enter_mounts(inside)

    return first, show


def _run_first_process(tell: int) -> None:
    """Runs as the first process of the command namespaces (isolated Linux namespaces for the agent's
    commands). This process becomes the parent of processes whose parent has ended. When this process ends,
    all processes of the command namespaces end. `tell`: the descriptor of the pipe to which a message is
    written when the process is ready.
    """
    namespaces.mount_new("proc", Path("/proc"))
    # The first process of a namespace gets signals from inside only if it has a handler for them.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    namespaces.give_up_all()
    namespaces.hide_from_others()
    # So no command keeps running after the server has lost control over it.
    namespaces.end_with_parent()
    os.write(tell, _READY)
    _leave_files_of_server()
    while True:
        try:
            os.wait()
        except ChildProcessError:  # none until one loses its parent
            signal.sigwait([signal.SIGCHLD])


def _show(conversations: Path, name: str) -> None:
    """Makes a conversation's directories in VISIBLE_DIRECTORIES visible in the command namespaces (isolated
    Linux namespaces for the agent's commands). Commands cannot see the other directories of the conversation.
    A second call changes nothing.

    `conversations`: the directory with the directories of all conversations. `name`: the name of the
    conversation's directory in `conversations`. FOR_COMMANDS is also allowed as a name; that directory
    becomes visible as a whole, but read-only.
    """
    if name == FOR_COMMANDS:
        _show_directory(_HIDDEN / name, conversations / name, is_read_only=True)
        return
    for folder, is_read_only in VISIBLE_DIRECTORIES.items():
        _show_directory(_HIDDEN / name / folder, conversations / name / folder, is_read_only=is_read_only)


def _show_directory(source: Path, target: Path, *, is_read_only: bool) -> None:
    # Directories from an imported archive may be links to any place.
    if not (_is_directory(source.parent) and _is_directory(source)):
        return
    target.mkdir(parents=True, exist_ok=True)
    if not target.is_mount():
        if is_read_only:
            # The mount is made read-only before it appears in the command namespaces, because later changes
            # of a mount have no effect there.
            namespaces.mount_again(source, source, read_only=True)
        namespaces.mount_again(source, target)


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _try() -> None:
    try:
        create_command_namespaces(Path(sys.argv[1]))
    except CommandNamespacesError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _try()
