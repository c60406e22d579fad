"""A tool that runs Python cells in an IPython kernel. The variables of the cells are kept between calls.

In events for clients, a call has the format of an MCP tool call, because every client of Slipway can read
this format.
"""

import asyncio
import contextlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from agent_runtime.secrets.masking import StreamMask
from agent_runtime.secrets.sources import SecretUnavailableError
from agent_runtime.tools.claims import Claim
from agent_runtime.tools.effects import Effect, RunsProgram
from agent_runtime.tools.external.mcp_format import CARRIED, Arguments, CarriedTool
from agent_runtime.tools.jupyter.kernel import INTERRUPT_SECONDS, Kernel, KernelError
from agent_runtime.tools.jupyter.outputs import CellOutputs
from agent_runtime.tools.jupyter.python import find_python
from agent_runtime.tools.mcp.tool import MCPToolAction, MCPToolObservation
from agent_runtime.tools.tool import ToolAnnotations, ToolContext

DEFAULT_SECONDS = 120.0
MAX_SECONDS = 3_600.0
_NEEDED = ("jupyter_client", "ipykernel")

_DESCRIPTION = """\
Run Python code as a cell of a Jupyter notebook. One IPython kernel serves the whole conversation: variables,
imports and functions stay from one cell to the next. It starts in {working_dir} with the first cell, in the
project's virtual environment (.venv) if that has ipykernel installed.

Good for exploring data and for plots, step by step: the value of the last line is shown, and so are pictures
(matplotlib and others), which you see if you can see images. `%magic` and `!command` work. Use the terminal
for everything else, and files for code that is to stay.

A cell that is not done after `timeout` is interrupted as by Ctrl-C; if it does not end then, the kernel is
killed and its variables are gone. `input()` does not work. Of very long output you see the beginning and the
end; the notice between them names the file with all of it."""

_LOST = "The next cell gets a new kernel: variables, imports and functions are gone."


class CellArguments(Arguments):
    code: str = Field(
        description="The Python code of the cell. May be empty together with `restart`.",
    )
    timeout: float = Field(
        default=DEFAULT_SECONDS,
        gt=0,
        le=MAX_SECONDS,
        description=f"Seconds the cell may take before it is interrupted, at most {MAX_SECONDS:.0f}. "
        f"Default: {DEFAULT_SECONDS:.0f}. Give more to what is slow, such as training a model.",
    )
    restart: bool = Field(
        default=False,
        description="True ends the kernel first, with all its variables, and begins with a new one. "
        "Default: false.",
    )


def missing_modules() -> list[str]:
    """Returns the names of the Python modules that a kernel needs and that are not installed on this
    machine.
    """
    return [name for name in _NEEDED if importlib.util.find_spec(name) is None]


class JupyterTool(CarriedTool[CellArguments]):
    name = "execute_ipython_cell"
    title = "Jupyter"
    kind = CARRIED
    arguments_type = CellArguments
    annotations = ToolAnnotations(
        readOnlyHint=False, destructiveHint=True, idempotentHint=False, openWorldHint=True
    )

    def __init__(self, context: ToolContext) -> None:
        """Creates the tool. The kernel starts at the first call. Raises ValueError if Jupyter is not
        installed.
        """
        if missing := missing_modules():
            raise ValueError(
                f"{' and '.join(missing)} cannot be imported. Install them beside the agent server: "
                f"{sys.executable} -m pip install 'slipway[jupyter]'."
            )
        self._environment = context.command_environment
        self._working_dir = context.working_dir
        self._save_dir = context.state_dir / "observations"
        self._secrets = context.secrets
        self._kernel: Kernel | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def description(self) -> str:
        return _DESCRIPTION.format(working_dir=self._working_dir)

    def claims(self, action: MCPToolAction) -> Sequence[Claim]:
        """Returns a claim (a statement about what a tool call uses) on all resources, in a lane that only
        cells use. A lane is the name of a group of calls.

        Two cells have the same lane, so their claims conflict and they run one after another. Shell commands
        have other lanes, so they may run at the same time as a cell.
        """
        del action
        return (Claim(lane=self.name),)

    def effects(self, action: MCPToolAction) -> Sequence[Effect]:
        return (RunsProgram(self.arguments(action).code),)

    def touches(self, action: MCPToolAction, observation: Mapping[str, object]) -> Sequence[Path]:
        del action, observation
        return ()

    async def run(self, action: MCPToolAction) -> MCPToolObservation:
        async with self._one_at_a_time:
            return await self._answer(self.arguments(action))

    async def close(self) -> None:
        kernel, self._kernel = self._kernel, None
        if kernel is not None:
            await kernel.close()

    async def _answer(self, cell: CellArguments) -> MCPToolObservation:
        if cell.restart:
            await self.close()
            if not cell.code.strip():
                return self.answer("The kernel was ended. The next cell gets a new one.")
        try:
            variables = await self._secrets.for_command(cell.code)
            kernel = await self._ready_kernel()
        except (SecretUnavailableError, KernelError) as error:
            return self.answer(f"The cell was not run. {error}", is_error=True)
        outputs = CellOutputs(self._save_dir, StreamMask(lambda: self._secrets.masker))
        try:
            await self._run(kernel, cell, variables, outputs)
        finally:
            if not kernel.is_alive:
                await self.close()
        return MCPToolObservation(content=outputs.content(), is_error=outputs.is_error, tool_name=self.name)

    async def _run(
        self, kernel: Kernel, cell: CellArguments, variables: Mapping[str, str], outputs: CellOutputs
    ) -> None:
        try:
            if variables:
                await kernel.set_variables(variables)
            await self._run_in_time(kernel, cell, outputs)
            if variables and kernel.is_alive:
                await kernel.unset_variables(variables)
        except (KernelError, TimeoutError) as error:
            outputs.is_error = True
            outputs.note(f"{str(error) or 'The kernel does not answer.'} {_LOST}")
            await self.close()

    async def _run_in_time(self, kernel: Kernel, cell: CellArguments, outputs: CellOutputs) -> None:
        """Runs the cell. Interrupts the cell when its time limit is reached or the call is cancelled. Raises
        KernelError if the kernel ends.
        """
        running = asyncio.create_task(kernel.execute(cell.code, outputs.listen))
        try:
            await asyncio.wait([running], timeout=cell.timeout)
            if not running.done():
                outputs.is_error = True
                await self._stop(kernel, running)
                outputs.note(f"Interrupted: the cell was not done after {cell.timeout:g} seconds.")
            running.result()
        except asyncio.CancelledError:
            outputs.discard()
            with contextlib.suppress(KernelError):
                await self._stop(kernel, running)
            raise

    async def _stop(self, kernel: Kernel, running: "asyncio.Task[None]") -> None:
        """Interrupts the running cell. If the cell does not end, kills the kernel and raises KernelError."""
        kernel.interrupt()
        await asyncio.wait([running], timeout=INTERRUPT_SECONDS)
        if running.done():
            return
        running.cancel()
        await asyncio.wait([running])
        await self.close()
        raise KernelError("The cell did not end when it was interrupted, so its kernel was killed.")

    async def _ready_kernel(self) -> Kernel:
        if self._kernel is not None and not self._kernel.is_alive:
            await self.close()
        if self._kernel is None:
            environment = self._environment()
            python = await find_python(self._working_dir, environment)
            self._kernel = await Kernel.start(python, self._working_dir, environment)
        return self._kernel
