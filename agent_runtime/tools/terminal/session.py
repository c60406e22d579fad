"""One persistent shell of a conversation. The agent can send input to a running command."""

import asyncio
import os
import pwd
import shutil
import socket
from pathlib import Path

from agent_runtime.events.content import TextContent
from agent_runtime.secrets.masking import StreamMask
from agent_runtime.secrets.sources import SecretUnavailableError
from agent_runtime.tools.live_output import MAX_STYLES, OutputTail
from agent_runtime.tools.terminal.keys import key_bytes
from agent_runtime.tools.terminal.models import (
    STILL_RUNNING,
    TerminalAction,
    TerminalMetadata,
    TerminalObservation,
)
from agent_runtime.tools.terminal.output import OutputCollector
from agent_runtime.tools.terminal.paint import Style
from agent_runtime.tools.terminal.pty_shell import (
    MAX_INPUT_LINE_BYTES,
    Patience,
    PtyShell,
    ShellStartError,
    TooManyVariablesError,
)
from agent_runtime.tools.tool import ToolContext
from agent_runtime.workspace import out_of_memory

_OUT_OF_MEMORY = (
    " The sandbox ran out of memory meanwhile, and the kernel killed a process in it: use less at a time "
    "(smaller batches, fewer parallel jobs)."
)


class TerminalSession:
    """One shell of a conversation, in which the agent runs commands. The shell starts with the first command,
    and again if it has ended.
    """

    def __init__(
        self,
        context: ToolContext,
        *,
        quiet_seconds: float,
        settle_seconds: float,
    ) -> None:
        self._environment = context.command_environment
        self._start_dir = context.working_dir
        self._working_dir = context.working_dir
        self._path: str | None = None
        self._quiet_seconds = quiet_seconds
        self._settle_seconds = settle_seconds
        self._save_dir = context.state_dir / "observations"
        self._secrets = context.secrets
        self._live = context.live
        self._output = OutputCollector(self._save_dir, StreamMask(lambda: self._secrets.masker))
        self._shell: PtyShell | None = None
        self._running = ""
        self._kills_before = 0
        self._one_at_a_time = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the session's shell was started and is not closed."""
        return self._shell is not None

    @property
    def has_jobs(self) -> bool:
        """Whether a command runs in the shell, in the foreground or in the background."""
        return self._shell is not None and self._shell.has_jobs

    @property
    def running(self) -> str | None:
        """The running command, shortened to one line; None if no command runs in the foreground."""
        return _shorten(self._running) if self._shell is not None and self._shell.is_busy else None

    def peek(self, max_chars: int) -> OutputTail:
        """Returns the last part of the running command's output, at most `max_chars` characters. Output that
        the model has already got in an earlier tool result is left out.
        """
        text = self._output.peek(max_chars)
        text = self._shell.without_traces(text) if self._shell else text
        return OutputTail(text, self._output.styles_now(text, MAX_STYLES))

    async def run(self, action: TerminalAction) -> TerminalObservation:
        async with self._one_at_a_time:
            try:
                return await self._answer(action)
            except asyncio.CancelledError:
                await self._interrupt()
                raise

    async def close(self) -> None:
        shell, self._shell = self._shell, None
        if shell:
            await shell.close()
        self._output.discard()

    async def _answer(self, action: TerminalAction) -> TerminalObservation:
        if action.reset:
            return await self._reset(action)
        if self._shell is not None and self._shell.is_busy:
            return await self._talk(self._shell, action)
        if action.is_input or not action.command.strip():
            return self._refuse(
                action, "No command is running: there is nothing to send input to or wait for."
            )
        return await self._run_command(action)

    async def _reset(self, action: TerminalAction) -> TerminalObservation:
        if action.is_input:
            return self._refuse(action, "`reset` and `is_input` cannot be combined: choose one.")
        await self.close()
        self._working_dir = self._start_dir
        if action.command.strip():
            return await self._run_command(action)
        return self._observe(action, "The shell was ended. The next command gets a new one.")

    async def _talk(self, shell: PtyShell, action: TerminalAction) -> TerminalObservation:
        if not action.command.strip():
            return await self._wait(action, self._follow_up(action))
        if not action.is_input:
            return self._refuse(action, _BUSY.format(running=self.running))
        data = key_bytes(action.command)
        if max(map(len, data.split(b"\n"))) > MAX_INPUT_LINE_BYTES:
            limit = f"A terminal takes lines of at most {MAX_INPUT_LINE_BYTES} bytes"
            return self._refuse(action, f"{limit}; nothing was sent. Pass longer data in a file.")
        if shell.send(data) < len(data):
            return self._refuse(
                action, "The running command does not read its input; not all of it was sent."
            )
        return await self._wait(action, self._follow_up(action))

    async def _run_command(self, action: TerminalAction) -> TerminalObservation:
        try:
            variables = await self._secrets.for_command(action.command)
            shell = await self._ready_shell()
            # Counted before the start: a command can be killed before `begin` returns.
            self._kills_before = out_of_memory.kills()
            shell.begin(action.command, variables)
        except (SecretUnavailableError, ShellStartError, TooManyVariablesError) as error:
            return self._refuse(action, str(error))
        self._running = action.command
        is_hard = action.timeout is not None
        return await self._wait(action, Patience(action.timeout, None if is_hard else self._quiet_seconds))

    def _follow_up(self, action: TerminalAction) -> Patience:
        if action.timeout is not None:
            return Patience(total_seconds=action.timeout)
        return Patience(quiet_seconds=self._quiet_seconds, settle_seconds=self._settle_seconds)

    async def _wait(self, action: TerminalAction, patience: Patience) -> TerminalObservation:
        shell = self._shell
        assert shell
        if not await shell.wait(patience):
            return self._observe(action, _still_running(patience, action), is_running=True)
        if shell.status:
            self._working_dir, self._path = Path(shell.status.working_dir), shell.status.path
            exit_code = shell.status.exit_code
            note = f"The command completed with exit code {exit_code}."
            return self._observe(action, note + self._memory_note(), exit_code)
        exit_code = shell.exit_code if shell.exit_code is not None else STILL_RUNNING
        note = f"The shell itself ended with exit code {exit_code}. The next command gets a new one in "
        note = f"{note}{self._next_dir()}; variables are gone."
        return self._observe(action, note + self._memory_note(), exit_code)

    def _memory_note(self) -> str:
        return _OUT_OF_MEMORY if out_of_memory.kills() > self._kills_before else ""

    async def _ready_shell(self) -> PtyShell:
        if self._shell and self._shell.exit_code is not None:
            await self._shell.close()
            self._shell = None
        if not self._shell:
            self._shell = await PtyShell.start(self._next_dir(), self._environment(), self._hear)
            self._output.discard()
        return self._shell

    def _hear(self, data: bytes) -> None:
        self._output.feed(data)
        self._live.touch()

    async def _interrupt(self) -> None:
        if self._shell and self._shell.is_busy:
            await self._shell.interrupt()
        self._output.discard()

    def _next_dir(self) -> Path:
        return self._working_dir if self._working_dir.is_dir() else self._start_dir

    def _observe(
        self, action: TerminalAction, note: str, exit_code: int = 0, *, is_running: bool = False
    ) -> TerminalObservation:
        code = STILL_RUNNING if is_running else exit_code
        output = self._take_output(is_last=not is_running)
        return TerminalObservation(
            content=[TextContent(text=output)],
            command=action.command,
            exit_code=code,
            timeout=is_running,
            metadata=self._metadata(code, f"\n[{note}]", self._output.styles(output)),
            full_output_save_dir=str(self._save_dir),
        )

    def _refuse(self, action: TerminalAction, reason: str) -> TerminalObservation:
        output = self._take_output(is_last=False)
        return TerminalObservation(
            content=[TextContent(text=f"{output}\n{reason}" if output else reason)],
            is_error=True,
            command=action.command,
            exit_code=STILL_RUNNING,
            metadata=self._metadata(STILL_RUNNING, "", self._output.styles(output)),
        )

    def _take_output(self, *, is_last: bool = True) -> str:
        text = self._output.take(is_last=is_last)
        return (self._shell.without_traces(text) if self._shell else text).removesuffix("\n")

    def _metadata(self, exit_code: int, suffix: str, styles: list[Style]) -> TerminalMetadata:
        return TerminalMetadata(
            exit_code=exit_code,
            username=_username(),
            hostname=socket.gethostname(),
            working_dir=str(self._working_dir),
            py_interpreter_path=shutil.which("python3", path=self._path)
            or shutil.which("python", path=self._path),
            suffix=suffix,
            styles=styles or None,
        )


_BUSY = (
    "This command was not run, because an earlier one is still running: {running}\n"
    "Wait for it with an empty command, answer it with is_input=true, stop it with is_input=true and "
    '"C-c", or start over with reset=true.'
)


def _still_running(patience: Patience, action: TerminalAction) -> str:
    if action.timeout is not None:
        reason = f"The command is still running after {action.timeout:g} seconds."
    elif patience.settle_seconds is not None:
        reason = "The command is still running."
    else:
        reason = (
            f"The command has printed nothing for {patience.quiet_seconds:g} seconds and is still running."
        )
    return (
        f"{reason} Send an empty command to wait for more output, is_input=true with text to answer a "
        'prompt, or is_input=true with "C-c" to stop it.'
    )


def _shorten(command: str, max_chars: int = 200) -> str:
    line = " ".join(command.split())
    return line if len(line) <= max_chars else f"{line[:max_chars]}…"


def _username() -> str:
    """Returns the name of the user under which the agent's commands run: the value of the variable LOGNAME or
    USER. If both are missing, returns the name of the effective user of this process.
    """
    try:
        named = os.environ.get("LOGNAME") or os.environ.get("USER")
        return named or pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # containers often run under a uid without a name
        return str(os.geteuid())
