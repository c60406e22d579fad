"""Runs the program of a runtime plugin (such as VS Code or the desktop), and stores the last part of the
program's output.
"""

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from agent_runtime.server.runtime_plugins.plugin import RuntimePluginError
from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.signals import signal_group_of
from agent_runtime.workspace.users import start_process

POLL_SECONDS = 0.05
TERMINATE_SECONDS = 5.0
_REST_SECONDS = 2.0
_MAX_PIECES = 40
_PIECE_BYTES = 2_000


class PluginProgram:
    """The running program of a runtime plugin, with its child processes in one process group. The method
    `start` starts the program, and `end` ends it.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._output: deque[bytes] = deque(maxlen=_MAX_PIECES)
        self._listening = asyncio.create_task(self._listen(), name=f"words of {process.pid}")

    @classmethod
    async def start(
        cls, *arguments: str | Path, cwd: Path, environment: Mapping[str, str]
    ) -> "PluginProgram":
        """Starts the program of a plugin. Raises RuntimePluginError if the program cannot be started.

        `arguments`: the program and its command-line arguments. `cwd`: the working directory of the program.
        `environment`: all environment variables of the program.
        """
        try:
            process = await start_process(
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise RuntimePluginError(f"{arguments[0]} cannot be started: {error}.") from error
        return cls(process)

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    def last_words(self) -> str:
        return b"".join(self._output).decode(errors="replace").strip()

    async def end(self) -> None:
        """Ends the plugin's program: sends SIGTERM to its process group, and SIGKILL after TERMINATE_SECONDS.
        A second call has no effect.
        """
        if self.is_alive:
            signal_group_of(self._process, signal.SIGTERM)
            await asyncio.wait({asyncio.ensure_future(self._process.wait())}, timeout=TERMINATE_SECONDS)
        signal_group_of(self._process, signal.SIGKILL)
        await self._process.wait()
        # Processes that left the group may keep the pipe open.
        await asyncio.wait({self._listening}, timeout=_REST_SECONDS)
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def ready(self, answers: Callable[[], Awaitable[bool]], seconds: float) -> None:
        """Waits until the program is ready, at most `seconds`. `answers`: a function that returns whether the
        program answers requests; it is called repeatedly until it returns True.

        Raises RuntimePluginError if the program ends before it is ready, or is not ready in time.
        """
        try:
            async with time_limit(seconds):
                while not await answers():
                    if not self.is_alive:
                        await asyncio.wait({self._listening}, timeout=_REST_SECONDS)
                        raise RuntimePluginError(
                            f"It ended with status {self._process.returncode}.", self.last_words()
                        )
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError as error:
            raise RuntimePluginError(
                f"It did not answer within {seconds:g} seconds.", self.last_words()
            ) from error

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        while piece := await self._process.stdout.read(_PIECE_BYTES):
            self._output.append(piece)
