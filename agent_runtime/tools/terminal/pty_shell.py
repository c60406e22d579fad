"""Runs one interactive bash on a separate terminal.

Each command is written to a file, and a line that sources this file is typed into the terminal. So any text
can be run as one command. The exit code of the command is sent over a FIFO and not with the output. So a
command cannot imitate an exit code by its output, and prompt settings cannot change the exit code.

After each command, bash also prints a mark into the output: an escape sequence that a terminal does not
display. When the runtime reads this mark, it knows that it has read all output of the command.
"""

import asyncio
import os
import pty
import re
import shlex
import shutil
import signal
import termios
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.time_limits import time_limit_at
from agent_runtime.tools.terminal.launch import RC, set_modes, spawn
from agent_runtime.workspace.private_dir import make_private_dir
from agent_runtime.workspace.signals import has_companions, signal_group, signal_session_of

START_SECONDS = 20.0
INTERRUPT_GRACE_SECONDS = 1.0
# How often to look, within the grace, whether another program has the terminal.
_FOREGROUND_LOOKS = 10
# How long to wait for the mark after the status: a command may have closed the terminal.
MARK_GRACE_SECONDS = 0.2
_COMMAND_FILES_KEPT = 8
# The size that fits into a FIFO without a reader.
MAX_VARIABLES_BYTES = 60_000
# Longest line a terminal in its normal mode can take.
MAX_INPUT_LINE_BYTES = 4095


class TooManyVariablesError(Exception):
    """The error that is raised when the environment variables for a command are too large to be passed
    together. The error's text is written for the model.
    """


class ShellStartError(Exception):
    """The error that is raised when bash did not start. The text says why."""


@dataclass(frozen=True)
class Status:
    """The exit code of a command, and the working directory and the PATH of the shell after the command."""

    exit_code: int
    working_dir: str
    path: str


@dataclass(frozen=True)
class Patience:
    """The time limits of `PtyShell.wait`, in seconds; None means no limit. The wait ends when the first limit
    is reached.

    `total_seconds`: the limit for the whole wait. `quiet_seconds`: the longest time without new output.
    `settle_seconds`: replaces `quiet_seconds` as soon as the command has printed something. It is set
    for calls that send input to a running command, or that wait for more output of it.
    """

    total_seconds: float | None = None
    quiet_seconds: float | None = None
    settle_seconds: float | None = None

    def deadline(self, started: float, last_output: float | None) -> float | None:
        limits = [started + self.total_seconds] if self.total_seconds is not None else []
        if last_output is not None and self.settle_seconds is not None:
            limits.append(last_output + self.settle_seconds)
        elif self.quiet_seconds is not None:
            limits.append((last_output or started) + self.quiet_seconds)
        return min(limits, default=None)


class PtyShell:
    """A running bash on a separate terminal, made by `PtyShell.start`. `on_output`: a function that gets the
    terminal's raw output.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        terminal: tuple[int, int],
        private_dir: Path,
        on_output: Callable[[bytes], None],
    ) -> None:
        self._process = process
        # The slave side is kept open, since reads would fail while no program has the terminal open.
        self._master, self._slave = terminal
        self._dir = private_dir
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._modes = termios.tcgetattr(self._slave)
        self._fifo = os.open(private_dir / "status", os.O_RDWR | os.O_NONBLOCK)
        self._variables = os.open(private_dir / "variables", os.O_RDWR | os.O_NONBLOCK)
        self._changed = asyncio.Event()
        self._serial = 0
        self._status: Status | None = None
        self._is_drained = False
        self._records = b""
        self._recent = b""
        self._last_output_at: float | None = None
        self._is_closed = False
        self.exit_code: int | None = None
        os.set_blocking(self._master, False)
        self._loop.add_reader(self._master, self._read_terminal)
        self._loop.add_reader(self._fifo, self._read_status)
        self._exit_watch = asyncio.create_task(self._watch_exit())

    @classmethod
    async def start(
        cls, working_dir: Path, environment: Mapping[str, str], on_output: Callable[[bytes], None]
    ) -> "PtyShell":
        """Starts a shell in `working_dir` and waits for its first prompt. `on_output`: a function that gets
        the terminal's raw output. Raises ShellStartError if the shell does not start.
        """
        try:
            shell = await cls._launch(working_dir, environment, on_output)
        except OSError as error:
            reason = f"The shell could not be started in {working_dir}: {error.strerror}."
            raise ShellStartError(reason) from error
        is_up = False
        try:
            is_up = await shell.wait(Patience(total_seconds=START_SECONDS)) and shell.exit_code is None
        finally:
            if not is_up:
                await shell.close()
        if not is_up:
            raise ShellStartError(f"The shell did not get to its first prompt in {working_dir}.")
        return shell

    @classmethod
    async def _launch(
        cls, working_dir: Path, environment: Mapping[str, str], on_output: Callable[[bytes], None]
    ) -> "PtyShell":
        private_dir = make_private_dir("shell")
        master, slave = pty.openpty()
        try:
            os.mkfifo(private_dir / "status", 0o600)
            os.mkfifo(private_dir / "variables", 0o600)
            rc = private_dir / "rc"
            rc.write_text(
                RC.replace("STATUS_FIFO", shlex.quote(str(private_dir / "status"))).replace(
                    "VARIABLES_FIFO", shlex.quote(str(private_dir / "variables"))
                )
            )
            set_modes(slave)
            process = await spawn(os.ttyname(slave), rc, working_dir, environment)
        except BaseException:
            os.close(master)
            os.close(slave)
            shutil.rmtree(private_dir, ignore_errors=True)
            raise
        return cls(process, (master, slave), private_dir, on_output)

    @property
    def is_busy(self) -> bool:
        """Whether the shell runs a command in the foreground."""
        return self.exit_code is None and not self._is_finished

    @property
    def has_jobs(self) -> bool:
        """Whether the shell runs a command in the foreground or in the background."""
        return self.exit_code is None and (self.is_busy or has_companions(self._process.pid))

    @property
    def status(self) -> Status | None:
        """The result of the shell's last command. None while the command runs, and after the shell itself has
        ended.
        """
        return self._status if self._is_finished else None

    def begin(self, command: str, variables: Mapping[str, str] | None = None) -> None:
        """Starts a command. The shell must not be busy.

        `variables`: environment variables for this command alone. Raises TooManyVariablesError if the
        variables are too large; then the command is not started.
        """
        self._hand_over(variables or {})
        self._serial += 1
        self._status, self._is_drained, self._last_output_at = None, False, None
        # Whatever the last program did to the terminal (raw mode, echo) must not outlive it.
        termios.tcsetattr(self._master, termios.TCSANOW, self._modes)
        script = self._dir / f"{self._serial % _COMMAND_FILES_KEPT}.sh"
        # Some file systems write a truncated file to disk at once, so a new file is made.
        script.unlink(missing_ok=True)
        script.write_text(command + "\n", encoding="utf-8", errors="replace")
        begin = f"__slipway_begin {self._serial} {int(bool(variables))}"
        self.send(f" {begin}; . {script}; __slipway_report\n".encode())

    def _hand_over(self, variables: Mapping[str, str]) -> None:
        with suppress(BlockingIOError):
            while os.read(self._variables, 1 << 16):
                pass  # left over by a command that was interrupted before it took them
        if not variables:
            return
        data = "".join(f"{name}\0{value}\0" for name, value in variables.items()) + "\0"
        encoded = data.encode(errors="replace")
        if len(encoded) > MAX_VARIABLES_BYTES:
            raise TooManyVariablesError("The secrets that this command names are too large together.")
        os.write(self._variables, encoded)

    def send(self, data: bytes) -> int:
        """Types `data` into the terminal. Returns how many bytes the terminal accepted: fewer than all if the
        program does not read its input.
        """
        self._last_output_at = None
        try:
            return os.write(self._master, data)
        except BlockingIOError:
            return 0

    async def wait(self, patience: Patience) -> bool:
        """Waits until the running command or the shell has ended, and returns True. Returns False if one of
        the time limits in `patience` is reached first.
        """
        started = self._loop.time()
        while self.is_busy:
            limit = patience.deadline(started, self._last_output_at)
            if limit is not None and limit <= self._loop.time():
                self._last_output_at = None  # the caller takes what there is
                return False
            self._changed.clear()
            try:
                async with time_limit_at(limit):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return True

    async def interrupt(self) -> None:
        """Ends the running command by SIGINT, then by SIGKILL. If the shell is still busy then, closes the
        shell.
        """
        for number in (signal.SIGINT, signal.SIGKILL):
            if await self._end_foreground(number):
                return
        await self.close()

    async def close(self) -> None:
        """Ends the shell and all processes of its session. Safe to call twice."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            signal_session_of(self._process, signal.SIGHUP)
            await asyncio.wait({self._exit_watch}, timeout=0.5)
        finally:
            signal_session_of(self._process, signal.SIGKILL)
            self._stop_reading()
            for descriptor in (self._master, self._slave, self._fifo, self._variables):
                os.close(descriptor)
            shutil.rmtree(self._dir, ignore_errors=True)
        await self._exit_watch

    def without_traces(self, text: str) -> str:
        """Removes what the runtime itself adds to the output of a command, and returns the text. `text`: the
        output.

        Removes the lines that bash's trace (`set -x`) prints about the runtime's temporary files. Also
        replaces the path of the file from which bash reads the command by "bash".
        """
        private = re.escape(str(self._dir))
        text = re.sub(rf"(?m)^\++ .*(?:__slipway_|{private}).*\n?", "", text)
        return re.sub(rf"{private}/\d\.sh", "bash", text)

    @property
    def _is_finished(self) -> bool:
        return self._status is not None and self._is_drained

    def _read_terminal(self) -> None:
        try:
            data = os.read(self._master, 1 << 16)
        except BlockingIOError:
            return
        self._on_output(data)
        self._last_output_at = self._loop.time()
        self._recent = (self._recent + data)[-len(data) - 32 :]
        if f"\x1b]slipway;{self._serial}\x07".encode() in self._recent:
            self._is_drained = True
        self._recent = self._recent[-32:]
        self._changed.set()

    def _read_status(self) -> None:
        self._records += os.read(self._fifo, 1 << 16)
        while self._records.count(b"\0") >= 4:
            serial, exit_code, working_dir, path, self._records = self._records.split(b"\0", 4)
            if int(serial) == self._serial:
                self._status = Status(int(exit_code), os.fsdecode(working_dir), os.fsdecode(path))
                self._loop.call_later(MARK_GRACE_SECONDS, self._stop_waiting_for_mark, self._serial)
                self._changed.set()

    def _stop_waiting_for_mark(self, serial: int) -> None:
        if serial == self._serial:
            self._is_drained = True
            self._changed.set()

    async def _watch_exit(self) -> None:
        code = await self._process.wait()
        await asyncio.sleep(0.02)  # the terminal may not have passed on the shell's last words yet
        if not self._is_closed:
            self._read_rest()
        self.exit_code = code if code >= 0 else 128 - code
        self._changed.set()

    def _read_rest(self) -> None:
        try:
            while data := os.read(self._master, 1 << 16):
                self._on_output(data)
        except BlockingIOError:
            return

    def _stop_reading(self) -> None:
        self._loop.remove_reader(self._master)
        self._loop.remove_reader(self._fifo)

    async def _end_foreground(self, number: signal.Signals) -> bool:
        """Sends a signal to the running command. Returns whether the command ended within
        INTERRUPT_GRACE_SECONDS.

        The signal may arrive between two programs of a command. Bash then ignores the signal and waits for
        the second program. So each program that comes to the foreground within INTERRUPT_GRACE_SECONDS also
        gets the signal.
        """
        group = self._foreground
        if not (group == self._process.pid and number == signal.SIGKILL):
            signal_group(group, number)
        for _ in range(_FOREGROUND_LOOKS):
            if await self.wait(Patience(total_seconds=INTERRUPT_GRACE_SECONDS / _FOREGROUND_LOOKS)):
                return True
            if self._foreground not in {group, self._process.pid}:
                group = self._foreground
                signal_group(group, signal.SIGINT)
        return False

    @property
    def _foreground(self) -> int:
        """The id of the process group that runs in the foreground of the terminal."""
        return os.tcgetpgrp(self._master)
