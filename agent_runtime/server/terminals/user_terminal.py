"""One bash on a terminal, for a person. The shell stays when its last viewer leaves, so that a person who
comes back finds it as it was.
"""

import asyncio
import fcntl
import os
import pty
import shutil
import signal
import struct
import termios
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_runtime.tools.terminal.launch import spawn
from agent_runtime.workspace.environment import bash_path, command_environment
from agent_runtime.workspace.signals import signal_session_of

MAX_RECENT_BYTES: Final = 256 * 1024
"""How much of the last output a new viewer gets."""

MAX_UNSENT_BYTES: Final = 512 * 1024
"""How much output may wait for one viewer. The programs in the terminal are held up while more would wait."""

_READ_BYTES = 1 << 16
_HANG_UP_SECONDS = 0.5
_PAGERS = ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER")


@dataclass(frozen=True)
class Size:
    """The size of a terminal, in characters."""

    columns: int
    rows: int


class Viewer:
    """The output that one viewer of a terminal has not received yet."""

    def __init__(self, recent: bytes, on_taken: Callable[[], None]) -> None:
        """Creates the viewer. `recent`: the output from before. `on_taken`: a function that is called when
        the viewer has taken output.
        """
        self._pieces = deque([recent] if recent else [])
        self._on_taken = on_taken
        self._changed = asyncio.Event()
        self._is_over = False
        if recent:
            self._changed.set()

    @property
    def unsent_bytes(self) -> int:
        return sum(map(len, self._pieces))

    def add(self, data: bytes) -> None:
        self._pieces.append(data)
        self._changed.set()

    def end(self) -> None:
        self._is_over = True
        self._changed.set()

    async def next(self) -> bytes:
        """Waits for output and returns it. Returns empty bytes after the end of the shell."""
        while not self._pieces and not self._is_over:
            self._changed.clear()
            await self._changed.wait()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._on_taken()
        return data


class UserTerminal:
    """A running bash on a terminal, made by `UserTerminal.start`."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: tuple[int, int]) -> None:
        self._process = process
        # The slave side is kept open, since reads would fail while no program has the terminal open.
        self._master, self._slave = terminal
        self._loop = asyncio.get_running_loop()
        self._viewers: set[Viewer] = set()
        self._recent: deque[bytes] = deque()
        self._recent_bytes = 0
        self._is_reading = self._is_closed = False
        self._is_writable = asyncio.Event()
        os.set_blocking(self._master, False)
        self._read_if_wanted()
        self.ended = asyncio.create_task(self._watch_exit(), name=f"terminal {process.pid}")
        """The task that ends with the shell and returns its exit code; negative for a signal."""

    @classmethod
    async def start(cls, working_dir: Path, size: Size) -> "UserTerminal":
        """Starts a bash in `working_dir`. It is started as the agent's commands are, with the same isolation
        and the same environment variables. Raises OSError if it cannot be started.
        """
        master, slave = pty.openpty()
        try:
            _set_size(slave, size)
            process = await spawn(
                os.ttyname(slave), [bash_path(), "-i"], working_dir, command_environment(_of_people())
            )
        except BaseException:
            os.close(master)
            os.close(slave)
            raise
        return cls(process, (master, slave))

    @property
    def is_running(self) -> bool:
        return not self.ended.done() and not self._is_closed

    @property
    def is_viewed(self) -> bool:
        return bool(self._viewers)

    def add_viewer(self) -> Viewer:
        """Adds a viewer. It gets the last output first, at most MAX_RECENT_BYTES, and then all output."""
        viewer = Viewer(b"".join(self._recent), self._read_if_wanted)
        if not self.is_running:
            viewer.end()
        self._viewers.add(viewer)
        return viewer

    def remove_viewer(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)
        self._read_if_wanted()

    async def type(self, data: bytes) -> None:
        """Types `data` into the terminal. Waits while a program does not read what was typed before."""
        while data and self.is_running:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await self._until_writable()

    def resize(self, size: Size) -> None:
        """Sets the size of the terminal. The program in the foreground is told."""
        if not self._is_closed:
            _set_size(self._master, size)

    async def close(self) -> None:
        """Ends the shell and all processes of its session. Safe to call twice."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            signal_session_of(self._process, signal.SIGHUP)
            await asyncio.wait({self.ended}, timeout=_HANG_UP_SECONDS)
        finally:
            signal_session_of(self._process, signal.SIGKILL)
            self._stop_reading()
            self._loop.remove_writer(self._master)
            os.close(self._master)
            os.close(self._slave)
        await self.ended

    async def _until_writable(self) -> None:
        self._is_writable.clear()
        self._loop.add_writer(self._master, self._is_writable.set)
        try:
            await self._is_writable.wait()
        finally:
            if not self._is_closed:
                self._loop.remove_writer(self._master)

    def _read_if_wanted(self) -> None:
        """Reads the terminal's output, but not while too much of it waits for a viewer."""
        if self._is_closed:
            return
        is_wanted = all(viewer.unsent_bytes <= MAX_UNSENT_BYTES for viewer in self._viewers)
        if is_wanted and not self._is_reading:
            self._loop.add_reader(self._master, self._read)
            self._is_reading = True
        elif not is_wanted:
            self._stop_reading()

    def _stop_reading(self) -> None:
        self._loop.remove_reader(self._master)
        self._is_reading = False

    def _read(self) -> None:
        try:
            self._pass_on(os.read(self._master, _READ_BYTES))
        except BlockingIOError:
            return

    def _pass_on(self, data: bytes) -> None:
        self._recent.append(data)
        self._recent_bytes += len(data)
        while self._recent_bytes > MAX_RECENT_BYTES:
            self._recent_bytes -= len(self._recent.popleft())
        for viewer in self._viewers:
            viewer.add(data)
        self._read_if_wanted()

    async def _watch_exit(self) -> int:
        code = await self._process.wait()
        if not self._is_closed:
            self._read_rest()
        for viewer in self._viewers:
            viewer.end()
        return code

    def _read_rest(self) -> None:
        try:
            while data := os.read(self._master, _READ_BYTES):
                self._pass_on(data)
        except BlockingIOError:
            return


def _set_size(terminal: int, size: Size) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))


def _of_people() -> dict[str, str]:
    """Returns the variables that differ for people: a pager can wait for their keys, and a prompt with the
    whole path would fill a narrow page.
    """
    pagers = dict.fromkeys(_PAGERS, "less") if shutil.which("less") else {}
    return {**pagers, "PROMPT_DIRTRIM": "2"}
