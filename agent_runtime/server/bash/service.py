"""Runs commands for clients of the agent server, each in a new bash process. The output of a command is
published while the command runs.
"""

import asyncio
import codecs
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_runtime.secrets.masking import StreamMask, everything, mask_everywhere
from agent_runtime.server.bash.events import BashEventStore
from agent_runtime.server.errors import ServerProblem
from agent_runtime.time_limits import time_limit
from agent_runtime.tools.truncate import join_cut
from agent_runtime.wire import BashCommand, BashOutput, ExecuteBashRequest
from agent_runtime.workspace.environment import bash_path, command_environment
from agent_runtime.workspace.local import is_directory
from agent_runtime.workspace.signals import signal_group_of
from agent_runtime.workspace.users import start_process

logger = logging.getLogger(__name__)

MAX_COMMAND_BYTES = 128 * 1024 - 1  # what Linux takes as one argument
MAX_EVENT_CHARS = 30_000
# The limit for one command. Of later output only the tail is kept.
MAX_COMMAND_CHARS = 8 * 1024 * 1024
FLUSH_SECONDS = 0.05
TERMINATE_GRACE_SECONDS = 1.0
# Background jobs keep the pipes open. So after the command's end, output is awaited only this long.
DRAIN_SECONDS = 0.2
KILLED = -1


class BashService:
    """An object that runs commands for clients and stores the events about these commands.

    Use it as `async with BashService(default_dir)`: all running commands are ended at the end of the block.
    `default_dir`: the directory in which a command runs if its request names no directory.
    """

    def __init__(self, default_dir: Path, *, retention_seconds: float | None = None) -> None:
        self.events = BashEventStore(retention_seconds)
        self._default_dir = default_dir
        self._running: dict[str, asyncio.Task[BashOutput]] = {}
        self.last_end: float | None = None
        """When the last command ended, as `time.monotonic()`. None if no command has ended yet."""

    @property
    def is_running(self) -> bool:
        """Whether a command of a client runs now."""
        return bool(self._running)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self, request: ExecuteBashRequest) -> BashCommand:
        """Starts a command and returns the event about its start. Does not wait for the end of the command.
        Raises ServerProblem if the command's directory does not exist.
        """
        command, _ = self._begin(request)
        return command

    async def execute(self, request: ExecuteBashRequest) -> BashOutput:
        """Runs a command and waits for its end.

        Returns the last output event, which contains the whole output of the command.
        """
        _, task = self._begin(request)
        await asyncio.wait({task})
        if task.cancelled():
            raise ServerProblem(409, "command_stopped", "The command was stopped before it ended.")
        return task.result()

    async def stop(self, command_id: str) -> bool:
        """Ends a running command. Returns False if no command with this id is running."""
        task = self._running.get(command_id)
        if task is None:
            return False
        task.cancel()
        await asyncio.wait({task})
        return True

    async def close(self) -> None:
        for command_id in list(self._running):
            await self.stop(command_id)

    def _begin(self, request: ExecuteBashRequest) -> tuple[BashCommand, "asyncio.Task[BashOutput]"]:
        directory = self._default_dir / (request.cwd or "")
        if not is_directory(directory):
            raise ServerProblem(
                400,
                "directory_not_found",
                "The directory `cwd` does not exist.",
                "Create it, or leave `cwd` out.",
            )
        _check(request.command)
        command = BashCommand(**request.model_dump())
        self.events.add(command.model_copy(update={"command": mask_everywhere(command.command)}))
        task = asyncio.create_task(_Run(command, directory, self.events.add).complete())
        self._running[command.id] = task
        task.add_done_callback(lambda done: self._forget(command.id, done))
        return command, task

    def _forget(self, command_id: str, task: "asyncio.Task[BashOutput]") -> None:
        del self._running[command_id]
        self.last_end = time.monotonic()
        if not task.cancelled() and (error := task.exception()):
            logger.error("command could not be run", exc_info=error, extra={"command_id": command_id})


class _Run:
    """Runs one command of a client, and publishes the output of the command in events. `complete` returns
    when the process has ended.
    """

    def __init__(self, command: BashCommand, directory: Path, publish: Callable[[BashOutput], None]) -> None:
        self._command = command
        self._directory = directory
        self._publish = publish
        self._order = 0
        self._stdout = _Pipe(self._flush)
        self._stderr = _Pipe(self._flush)

    async def complete(self) -> BashOutput:
        exit_code = KILLED
        try:
            exit_code = await self._run()
        finally:
            final = self._final(exit_code)
        return final.model_copy(update={"stdout": self._stdout.joined(), "stderr": self._stderr.joined()})

    async def _run(self) -> int:
        try:
            process = await start_process(
                bash_path(), "--noprofile", "--norc", "-c", self._command.command.encode("utf-8", "replace"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._stdout.write_end,
                stderr=self._stderr.write_end,
                cwd=self._directory,
                env=command_environment(),
                start_new_session=True,
            )  # fmt: skip
        finally:
            self._stdout.close_write_end()
            self._stderr.close_write_end()
        try:
            async with time_limit(self._command.timeout):
                exit_code = await process.wait()
        except TimeoutError:
            return KILLED
        else:
            return exit_code if exit_code >= 0 else 128 - exit_code
        finally:
            if process.returncode is None:
                await _end(process)
            await self._drain()

    async def _drain(self) -> None:
        try:
            async with time_limit(DRAIN_SECONDS):
                await self._stdout.ended.wait()
                await self._stderr.ended.wait()
        except TimeoutError:
            return

    def _flush(self) -> None:
        stdout, stderr = self._emit_full(self._stdout.take(), self._stderr.take())
        if stdout or stderr:
            self._emit(stdout, stderr)

    def _final(self, exit_code: int) -> BashOutput:
        self._stdout.close()
        self._stderr.close()
        return self._emit(
            *self._emit_full(self._stdout.take(is_last=True), self._stderr.take(is_last=True)), exit_code
        )

    def _emit_full(self, stdout: str, stderr: str) -> tuple[str, str]:
        """Publishes new output of the command in events of the maximum size, as long as it does not fit into
        one event. Returns the rest of stdout and the rest of stderr, which the caller publishes in the next
        event.

        `stdout`, `stderr`: the output that is not published yet. An event contains at most MAX_EVENT_CHARS
        characters of each.
        """
        while len(stdout) > MAX_EVENT_CHARS or len(stderr) > MAX_EVENT_CHARS:
            self._emit(stdout[:MAX_EVENT_CHARS], stderr[:MAX_EVENT_CHARS])
            stdout, stderr = stdout[MAX_EVENT_CHARS:], stderr[MAX_EVENT_CHARS:]
        return stdout, stderr

    def _emit(self, stdout: str, stderr: str, exit_code: int | None = None) -> BashOutput:
        output = BashOutput(
            command_id=self._command.id,
            order=self._order,
            exit_code=exit_code,
            stdout=stdout or None,
            stderr=stderr or None,
        )
        self._order += 1
        self._publish(output)
        return output


class _Pipe:
    """The reading end of the pipe for the stdout or stderr of a command. The object decodes the output while
    it arrives, and never splits a character that consists of several bytes.

    This class is used in place of asyncio's pipes, because asyncio would wait until the pipes are closed,
    which may be long after the end of the process.
    """

    def __init__(self, on_due: Callable[[], None]) -> None:
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self.ended = asyncio.Event()
        self._on_due = on_due
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read_end, self._read)
        self._due: asyncio.TimerHandle | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._mask = StreamMask(everything)
        self._taken: list[str] = []
        self._total = 0
        self._tail = ""

    def take(self, *, is_last: bool = False) -> str:
        """Returns the output that the command has written since the last call of `take`, with secrets masked.
        Text at the end that may be the beginning of a secret is returned later, because the rest of the
        secret may still arrive.

        `is_last`: whether this is the last call; the last call returns all remaining text.
        """
        if self._due:
            self._due.cancel()
            self._due = None
        text, self._pending = self._mask.feed(self._pending), ""
        if is_last:
            text += self._mask.flush()
        self._taken.append(text)
        return text

    def joined(self) -> str | None:
        """Returns the command's whole output so far, with secrets masked: all texts that `take` has returned.
        Returns None if there was no output.
        """
        return "".join(self._taken) or None

    def close_write_end(self) -> None:
        os.close(self.write_end)

    def close(self) -> None:
        if not self.ended.is_set():
            self._stop()
        self._keep(self._decoder.decode(b"", final=True))
        omitted = self._total - MAX_COMMAND_CHARS - len(self._tail)
        self._pending += self._tail if omitted <= 0 else join_cut("", self._tail, omitted_chars=omitted)
        os.close(self._read_end)

    def _read(self) -> None:
        try:
            data = os.read(self._read_end, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._stop()
            return
        self._keep(self._decoder.decode(data))
        if len(self._pending) >= MAX_EVENT_CHARS:
            self._on_due()
        elif not self._due:
            self._due = self._loop.call_later(FLUSH_SECONDS, self._on_due)

    def _stop(self) -> None:
        self._loop.remove_reader(self._read_end)
        self.ended.set()

    def _keep(self, text: str) -> None:
        room = max(0, MAX_COMMAND_CHARS - self._total)
        self._total += len(text)
        self._pending += text[:room]
        self._tail = (self._tail + text[room:])[-MAX_EVENT_CHARS:]


def _check(command: str) -> None:
    if "\0" in command:
        raise ServerProblem(400, "invalid_command", "The command contains a NUL character.")
    if len(command.encode("utf-8", "replace")) > MAX_COMMAND_BYTES:
        raise ServerProblem(
            413,
            "command_too_long",
            f"A command has at most {MAX_COMMAND_BYTES:,} bytes.",
            "Upload it as a file and run that.",
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the process of a command: sends SIGTERM to its process group, and SIGKILL after
    TERMINATE_GRACE_SECONDS.
    """
    try:
        signal_group_of(process, signal.SIGTERM)
        async with time_limit(TERMINATE_GRACE_SECONDS):
            await process.wait()
    except TimeoutError:
        pass  # it did not listen
    finally:
        signal_group_of(process, signal.SIGKILL)
    await process.wait()
