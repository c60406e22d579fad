"""Lists the runtime plugins of an agent server (such as VS Code) and starts them on demand."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem
from agent_runtime.server.runtime_plugins.desktop import Desktop
from agent_runtime.server.runtime_plugins.plugin import (
    Absence,
    RuntimePlugin,
    RuntimePluginError,
    Startable,
)
from agent_runtime.server.runtime_plugins.tool_plugins import BrowserPlugin, Jupyter
from agent_runtime.server.runtime_plugins.vscode import VSCode
from agent_runtime.wire import RuntimePluginInfo

MAX_OUTPUT_CHARACTERS = 4_000


class RuntimePlugins:
    """The runtime plugins of this server: programs that run in addition to the server, such as VS Code and a
    desktop. The object lists, starts and describes them. `close` stops all plugins that were started.
    """

    def __init__(self, config: Config) -> None:
        # In the workspace beside the conversations: it survives the machine and is not in the project.
        data = config.conversations_path.parent / ".vscode"
        self.vscode = VSCode(data, config.vscode_port, is_enabled=config.enable_vscode)
        self.desktop = Desktop(config.desktop_port)
        self._startable: dict[str, Startable] = {one.name: one for one in (self.vscode, self.desktop)}
        self._all: dict[str, RuntimePlugin] = {
            one.name: one for one in (self.vscode, self.desktop, BrowserPlugin(), Jupyter())
        }
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def describe(self) -> list[RuntimePluginInfo]:
        return [await self._describe(name) for name in self._all]

    async def start(self, name: str) -> RuntimePluginInfo:
        """Starts a plugin and returns its description and status. If the plugin already answers requests, it
        is not started again. If its program has ended or does not answer, the program is stopped and started
        again.

        The plugins for the browser and for Jupyter are not started here, because the agent's tools start
        these programs. For them, the method only checks that the plugin is available.

        Raises ServerProblem 404 `runtime_plugin_not_found` if there is no plugin with this name. Raises
        ServerProblem 503 if the plugin is not available; the error's code is the `code` of the plugin's
        Absence. Raises ServerProblem 503 `runtime_plugin_failed`, with the program's `output`, if the plugin
        does not start.
        """
        self.require(name)
        if plugin := self._startable.get(name):
            async with self._locks[name]:
                if not await plugin.is_healthy():
                    await plugin.stop()
                    await _start(plugin)
        return await self._describe(name)

    async def start_all(self, names: Sequence[str]) -> None:
        """Checks that all these plugins are available, then starts them. Raises the errors that the method
        `start` raises.
        """
        for name in names:
            self.require(name)
        for name in names:
            await self.start(name)

    def require(self, name: str) -> None:
        """Checks that a plugin is available. Raises ServerProblem 404 if the plugin does not exist. Raises
        ServerProblem 503 if the plugin is not available on this server.
        """
        plugin = self._all.get(name)
        if plugin is None:
            detail = f"There is no runtime plugin of this name. There are: {', '.join(self._all)}."
            raise ServerProblem(404, "runtime_plugin_not_found", detail)
        if absence := plugin.absence():
            raise problem_of(absence)

    def socket_at(self, port: int) -> Path | None:
        """Returns the Unix socket of the plugin with this port number.

        Returns None if no plugin has this number, or if the plugin does not run.
        """
        return next((one.socket for one in self._startable.values() if one.port == port), None)

    async def close(self) -> None:
        for plugin in self._startable.values():
            async with self._locks[plugin.name]:
                await plugin.stop()

    async def _describe(self, name: str) -> RuntimePluginInfo:
        plugin, startable = self._all[name], self._startable.get(name)
        info = RuntimePluginInfo(
            name=name, title=plugin.title, status="ready", port=startable.port if startable else None
        )
        if absence := plugin.absence():
            update = {"status": "unavailable", "reason": absence.reason, "fix": absence.fix}
            return info.model_copy(update=update)
        if startable is None:
            return info
        if self._locks[name].locked():
            return info.model_copy(update={"status": "starting"})
        is_running = await startable.is_healthy()
        return info.model_copy(update={"status": "running" if is_running else "stopped"})


def problem_of(absence: Absence) -> ServerProblem:
    return ServerProblem(503, absence.code, absence.reason, absence.fix)


async def _start(plugin: Startable) -> None:
    try:
        await plugin.start()
    except RuntimePluginError as error:
        raise ServerProblem(
            503,
            "runtime_plugin_failed",
            f"{plugin.title} did not start: {error}",
            "Read the output; fix the cause, then try again.",
            members={"output": error.output[-MAX_OUTPUT_CHARACTERS:]},
        ) from error
