"""Runs one IPython kernel: a separate process that runs Python cells. Its sockets are in a private
directory.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.private_dir import make_private_dir
from agent_runtime.workspace.signals import exists, signal_session_of
from agent_runtime.workspace.users import has_command_namespaces, start_process

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient

START_SECONDS = 90.0
"""The time limit for the start of a kernel. Usually a start takes about a second. It takes much longer if the
Python modules are not in the system's file cache.
"""
INTERRUPT_SECONDS = 5.0
"""How long a cell may continue to run after an interrupt. Then its kernel is killed."""
SETTING_SECONDS = 10.0
_LAST_WORDS_BYTES = 2_000
# No port is open to other users and programs of the machine, and the kernel keeps no history.
_OPTIONS = ("--HistoryManager.enabled=False", "--InteractiveShell.colors=NoColor")

Listener = Callable[[str, Mapping[str, Any]], None]
"""The type of a function that is called with each message that a cell publishes. The arguments are the type
and the content of the message.
"""


class KernelError(Exception):
    """The error that is raised when the IPython kernel did not start, or has ended. The text says why."""


class Kernel:
    """A running IPython kernel, which runs one cell at a time. Create it with `Kernel.start`."""

    def __init__(self, process: asyncio.subprocess.Process, words: IO[bytes], directory: Path) -> None:
        self._process = process
        self._words = words
        self._directory = directory
        self._ended = asyncio.create_task(process.wait(), name=f"kernel {process.pid}")
        self._client: AsyncKernelClient | None = None

    @classmethod
    async def start(cls, python: str, working_dir: Path, environment: Mapping[str, str]) -> "Kernel":
        """Starts an IPython kernel, waits until the kernel replies, and returns it. `python`: the path of the
        Python that runs the kernel. Raises KernelError if the kernel does not start.
        """
        directory = await asyncio.to_thread(make_private_dir, "kernel")
        words = await asyncio.to_thread(tempfile.TemporaryFile)
        connection = await asyncio.to_thread(_write_connection, directory)
        process = await start_process(
            python,
            "-m",
            "ipykernel_launcher",
            "-f",
            str(connection),
            *_OPTIONS,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd=working_dir,
            env={**environment, **_own_variables(directory)},
            start_new_session=True,
        )
        kernel = cls(process, words, directory)
        try:
            await kernel._connect(connection)
        except BaseException:
            await kernel.close()
            raise
        return kernel

    @property
    def is_alive(self) -> bool:
        return not self._ended.done() and exists(self._process.pid)

    async def execute(self, code: str, listener: Listener, *, is_silent: bool = False) -> None:
        """Runs a cell and waits until it has ended, with or without an error. `code`: the text of the cell.
        `listener`: a function that gets the kernel's messages about the cell: the type and the content.
        `is_silent`: if True, the kernel does not number the cell and does not send its result.

        Raises KernelError if the kernel ends before the cell has ended. If the call is cancelled, the cell
        continues to run.
        """
        client = self._connected()
        request = client.execute(
            code, silent=is_silent, store_history=not is_silent, allow_stdin=False, stop_on_error=False
        )
        await self._unless_it_ends(_follow(client, request, listener))

    async def set_variables(self, variables: Mapping[str, str]) -> None:
        """Adds environment variables for all later cells. Raises KernelError if the kernel has ended. Raises
        TimeoutError if the kernel does not reply in time.
        """
        values = json.dumps(dict(variables))
        await self._do(f"import os as _os, json as _json; _os.environ.update(_json.loads({values!r}))")

    async def unset_variables(self, names: Mapping[str, str]) -> None:
        """Removes the environment variables that `set_variables` has added, so that later cells do not have
        them. `names`: the same mapping that `set_variables` got; only its keys, the names, are used. Raises
        KernelError if the kernel has ended. Raises TimeoutError if the kernel does not reply in time.
        """
        await self._do(f"import os as _os; [_os.environ.pop(_n, None) for _n in {[*names]!r}]")

    def interrupt(self) -> None:
        """Interrupts the running cell and the programs that the cell has started, like Ctrl-C."""
        signal_session_of(self._process, signal.SIGINT)

    async def close(self) -> None:
        """Ends the kernel and all processes that its cells have started. Safe to call twice."""
        if self._client is not None:
            self._client.stop_channels()
            self._client.context.destroy(linger=0)
            self._client = None
        await asyncio.to_thread(signal_session_of, self._process, signal.SIGKILL)
        await asyncio.wait([self._ended])
        self._words.close()
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    async def _connect(self, connection: Path) -> None:
        # Loaded with the first kernel: most conversations have none.
        from jupyter_client.asynchronous.client import AsyncKernelClient

        client = self._client = AsyncKernelClient(connection_file=str(connection))
        client.load_connection_file()
        client.start_channels(stdin=False, hb=False)
        try:
            async with time_limit(START_SECONDS):
                await self._unless_it_ends(_greet(client))
        except TimeoutError as error:
            raise KernelError(f"The kernel was not ready within {START_SECONDS:g} seconds.") from error

    async def _do(self, code: str) -> None:
        async with time_limit(SETTING_SECONDS):
            await self.execute(code, _ignore, is_silent=True)

    async def _unless_it_ends(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        if not task.cancelled():
            return task.result()
        raise KernelError(await asyncio.to_thread(self._how_it_ended))

    def _how_it_ended(self) -> str:
        self._words.seek(0, 2)
        self._words.seek(max(0, self._words.tell() - _LAST_WORDS_BYTES))
        said = self._words.read().decode(errors="replace").strip()
        code = self._ended.result()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"The kernel {how}.{f' It said last:{chr(10)}{said}' if said else ''}"

    def _connected(self) -> "AsyncKernelClient":
        assert self._client is not None, "nothing is asked of a kernel that was closed"
        return self._client


def _ignore(kind: str, content: Mapping[str, Any]) -> None:
    del kind, content


async def _greet(client: "AsyncKernelClient") -> None:
    """Waits until the kernel replies to requests and this process receives the kernel's output.

    The kernel sends its output over a second socket, and output is lost if this socket is not yet connected
    completely. So the function sends a test request every second until the output for such a request arrives.
    """
    while True:
        request = client.kernel_info()
        with contextlib.suppress(TimeoutError):
            async with time_limit(1):
                await _until_idle(client, request)
                return


async def _until_idle(client: "AsyncKernelClient", request: str) -> None:
    await _follow(client, request, _ignore)


async def _follow(client: "AsyncKernelClient", request: str, listener: Listener) -> None:
    """Passes the kernel's messages about one request, such as the output of a cell, to `listener`. Returns
    when the kernel reports that the request is complete. `request`: the id of the request.
    """
    while True:
        message = await client.iopub_channel.get_msg()
        if message["parent_header"].get("msg_id") != request:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            return
        listener(kind, content)


def _own_variables(directory: Path) -> dict[str, str]:
    """Returns the environment variables that the kernel process gets in addition to those of commands.
    `directory`: the kernel's private directory.

    IPYTHONDIR is the directory for the files of IPython. JPY_PARENT_PID is the id of the agent server's
    process: the kernel ends when this process ends. If there are command namespaces (isolated Linux
    namespaces for commands), JPY_PARENT_PID is not set. It is not needed there, because all processes in them
    end together with the agent server.
    """
    parent = {} if has_command_namespaces() else {"JPY_PARENT_PID": str(os.getpid())}
    return {"IPYTHONDIR": str(directory / "profile"), **parent}


def _write_connection(directory: Path) -> Path:
    from jupyter_client.connect import write_connection_file

    path, _ = write_connection_file(
        str(directory / "connection.json"), transport="ipc", ip=str(directory / "socket")
    )
    return Path(path)
