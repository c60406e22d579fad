"""Contains the runtime plugin for VS Code in the browser: the program code-server on a private Unix socket.

code-server has no sign-in: a program that reaches the socket can do all that the agent can do. People reach
the socket through the app server's gateway, which authenticates them.
"""

import asyncio
import json
import shutil
import tempfile
from pathlib import Path

from agent_runtime.server.runtime_plugins.plugin import Absence
from agent_runtime.server.runtime_plugins.program import PluginProgram
from agent_runtime.time_limits import time_limit
from agent_runtime.workspace.environment import bash_path, command_environment
from agent_runtime.workspace.private_dir import make_private_dir

PROGRAM = "code-server"
START_SECONDS = 60.0
IDLE_SECONDS = 1800
"""VS Code ends itself this number of seconds after its last window was closed."""
_HEALTH_SECONDS = 2.0
_OPTIONS = (
    *("--auth", "none", "--socket-mode", "600", "--idle-timeout-seconds", str(IDLE_SECONDS)),
    *("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"),
    *("--disable-getting-started-override", "--disable-proxy", "--ignore-last-opened"),
)
_SETTINGS = {
    "chat.disableAIFeatures": True,
    "chat.agentHost.enabled": False,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "git.openRepositoryInParentFolders": "always",
    "json.schemaDownload.enable": False,
    "npm.fetchOnlinePackageInfo": False,
    "remote.autoForwardPorts": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "typescript.disableAutomaticTypeAcquisition": True,
    "update.mode": "none",
    "update.showReleaseNotes": False,
    "window.autoDetectColorScheme": True,
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.welcomePage.walkthroughs.openOnInstall": False,
}


class VSCode:
    """The runtime plugin for VS Code in the browser. The object starts and stops the program code-server.

    `data`: the directory in which code-server stores its settings and extensions. It is created when
    code-server starts. `is_enabled`: whether the configuration enables VS Code.
    """

    name = "vscode"
    title = "VS Code"

    def __init__(self, data: Path, port: int, *, is_enabled: bool) -> None:
        self.port = port
        self._data = data
        self._is_enabled = is_enabled
        self._program: PluginProgram | None = None
        self._directory: Path | None = None

    def absence(self) -> Absence | None:
        if not self._is_enabled:
            return Absence("vscode_disabled", "VS Code is switched off.", "Set OH_ENABLE_VSCODE=true.")
        if shutil.which(PROGRAM) is None:
            return Absence(
                "vscode_unavailable",
                f"There is no VS Code here: {PROGRAM} is not installed.",
                f"Use a sandbox image that carries it, or install {PROGRAM}.",
            )
        return None

    @property
    def socket(self) -> Path | None:
        return self._directory / "http" if self._directory else None

    async def is_healthy(self) -> bool:
        if self._program is None or self.socket is None or not self._program.is_alive:
            return False
        return await _answers(self.socket)

    async def start(self) -> None:
        self._directory = await asyncio.to_thread(make_private_dir, "vscode")
        try:
            await asyncio.to_thread(self._write_settings)
            self._program = await PluginProgram.start(
                PROGRAM,
                *_OPTIONS,
                *("--socket", str(self.socket), "--session-socket", str(self._directory / "session")),
                *("--user-data-dir", str(self._data), "--extensions-dir", str(self._data / "extensions")),
                *("--config", str(self._directory / "config.yaml")),
                cwd=self._directory,
                environment=command_environment(
                    {"SHELL": bash_path(), "XDG_RUNTIME_DIR": str(self._directory)}
                ),
            )
            await self._program.ready(self.is_healthy, START_SECONDS)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._program is not None:
            await self._program.end()
        if self._directory is not None:
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
        self._program = self._directory = None

    def _write_settings(self) -> None:
        """Writes default settings of VS Code if the user has no settings yet. Changes that users make later
        are not overwritten.
        """
        settings = self._data / "User" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        assert self._directory is not None
        (self._directory / "config.yaml").write_text("{}\n")
        if not settings.exists():
            with tempfile.NamedTemporaryFile("w", dir=settings.parent, delete=False) as file:
                json.dump(_SETTINGS, file, indent=2)
            Path(file.name).replace(settings)


async def _answers(socket: Path) -> bool:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try:
        async with time_limit(_HEALTH_SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket)
            try:
                writer.write(request)
                status = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return b" 200 " in status
