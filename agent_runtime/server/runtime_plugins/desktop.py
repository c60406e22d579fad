"""The runtime plugin for a desktop. It consists of an X server with a VNC connection, a window manager with a
panel, and a web page that shows the desktop.
"""

import asyncio
import os
import secrets
import shutil
import struct
from pathlib import Path

from agent_runtime.server.runtime_plugins.bridge import Bridge, find_novnc
from agent_runtime.server.runtime_plugins.plugin import Absence, RuntimePluginError
from agent_runtime.server.runtime_plugins.program import PluginProgram
from agent_runtime.workspace.environment import command_environment
from agent_runtime.workspace.private_dir import make_private_dir

X_SERVER, WINDOW_MANAGER = "Xvnc", "jwm"
START_SECONDS = 30.0
_SCREEN = "1280x800"
_COOKIE_BYTES = 16
_ANY_HOST = 0xFFFF
"""The value FamilyWild for the address family in an .Xauthority file. It means that the cookie is valid for
any host.
"""
_WINDOWS = Path(__file__).with_name("desktop") / "jwm.xml"
_BROWSER = _WINDOWS.with_name("browser.sh")


class Desktop:
    name = "desktop"
    title = "Desktop"

    def __init__(self, port: int) -> None:
        self.port = port
        self._directory: Path | None = None
        self._programs: list[PluginProgram] = []
        self._bridge: Bridge | None = None
        self._display: str | None = None

    def absence(self) -> Absence | None:
        missing = [program for program in (X_SERVER, WINDOW_MANAGER) if shutil.which(program) is None]
        if find_novnc() is None:
            missing.append("noVNC")
        if not missing:
            return None
        return Absence(
            "desktop_unavailable",
            f"There is no desktop here: {', '.join(missing)} is not installed.",
            "Use a sandbox image that carries it, or install tigervnc-standalone-server, jwm and novnc.",
        )

    @property
    def socket(self) -> Path | None:
        return self._directory / "http" if self._directory else None

    async def is_healthy(self) -> bool:
        return self._bridge is not None and all(program.is_alive for program in self._programs)

    async def start(self) -> None:
        self._directory = directory = await asyncio.to_thread(make_private_dir, "desktop")
        try:
            await self._start_x(directory)
            await self._start_windows(directory)
            self._bridge = await Bridge.open(directory / "http", directory / "vnc")
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        if self._bridge is not None:
            await self._bridge.close()
        for program in reversed(self._programs):
            await program.end()
        if self._directory is not None:
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
        if self._display is not None and os.environ.get("DISPLAY") == self._display:
            del os.environ["DISPLAY"], os.environ["XAUTHORITY"]
        self._bridge = self._directory = self._display = None
        self._programs.clear()

    async def _start_x(self, directory: Path) -> None:
        """Starts the X server and sets the variable DISPLAY, so that commands which start later can draw on
        the desktop.
        """
        authority, number = directory / "authority", directory / "display"
        await asyncio.to_thread(authority.write_bytes, _authority())
        # A shell opens the descriptor for -displayfd, to which X writes the free display number it chose.
        server = await PluginProgram.start(
            "/bin/sh",
            "-c",
            'exec "$0" "$@" 7>"$DISPLAY_NUMBER"',
            X_SERVER,
            *("-displayfd", "7", "-auth", str(authority), "-nolisten", "tcp"),
            *("-rfbport", "-1", "-rfbunixpath", str(directory / "vnc"), "-rfbunixmode", "0600"),
            *("-SecurityTypes", "None", "-AlwaysShared", "-AcceptSetDesktopSize"),
            *("-geometry", _SCREEN, "-depth", "24", "-desktop", "Slipway"),
            cwd=directory,
            environment=command_environment({"DISPLAY_NUMBER": str(number)}),
        )
        self._programs.append(server)

        async def has_display() -> bool:
            return await asyncio.to_thread(_content, number) != ""

        await server.ready(has_display, START_SECONDS)
        self._display = f":{await asyncio.to_thread(_content, number)}"
        os.environ["DISPLAY"], os.environ["XAUTHORITY"] = self._display, str(authority)

    async def _start_windows(self, directory: Path) -> None:
        manager = await PluginProgram.start(
            *(WINDOW_MANAGER, "-f", str(_WINDOWS)),
            cwd=Path.home() if Path.home().is_dir() else directory,
            environment=command_environment({"DESKTOP_BROWSER": str(_BROWSER)}),
        )
        self._programs.append(manager)
        if not manager.is_alive:
            raise RuntimePluginError("Its window manager ended.", manager.last_words())


def _content(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _authority() -> bytes:
    """Returns the content of an .Xauthority file with a new random key (a "cookie"). Only programs that can
    read this file may use the X server.
    """
    fields = (b"", b"", b"MIT-MAGIC-COOKIE-1", secrets.token_bytes(_COOKIE_BYTES))
    return struct.pack(">H", _ANY_HOST) + b"".join(struct.pack(">H", len(one)) + one for one in fields)
