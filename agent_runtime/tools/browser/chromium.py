"""Starts the Chromium browser of this machine so that only the runtime can control the browser.

The runtime controls Chromium over an inherited socket, not over a TCP port. Any program on this machine,
including the agent's commands, could connect to a port. The program could then control every page and cookie.
"""

import asyncio
import fcntl
import logging
import os
import shutil
import signal
import socket
from collections import deque
from pathlib import Path

from agent_runtime.workspace.environment import AUTHORITY, bash_path, command_environment
from agent_runtime.workspace.signals import signal_group_of
from agent_runtime.workspace.users import start_process

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
WIDTH, HEIGHT = 1280, 800
"""The size of a page in pixels."""
EXIT_SECONDS = 10.0
_REST_SECONDS = 2.0
_STDERR_LINES = 20
_FIRST_FREE_DESCRIPTOR = 10
_NO_SANDBOX = "--no-sandbox"
_NOBODY = "http://127.0.0.1:9"
_ARGUMENTS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    # Containers have a /dev/shm of 64 MB, which one large page fills.
    "--disable-dev-shm-usage",
    # Switches off calls that Chromium makes to its vendor's servers.
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    (
        "--disable-features=Translate,MediaRouter,OptimizationHints,BackForwardCache,HttpsUpgrades,"
        "NetworkTimeServiceQuerying,AutofillServerCommunication"
    ),
    # Calls that cannot be switched off go to an address without a server, which refuses them.
    f"--gaia-url={_NOBODY}",
    f"--component-updater=url-source={_NOBODY}/",
    "--password-store=basic",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--disk-cache-size=104857600",
    f"--window-size={WIDTH},{HEIGHT}",
)

# Chromium takes authorities from its own roots and from NSS, and knows no variable for a further one.
# A second start finds the database of the first one. certutil would ask for its password without end.
_TRUST_AUTHORITY = f"""
if [ -n "${AUTHORITY}" ] && command -v certutil >/dev/null; then
  rm -rf "$HOME/.pki/nssdb"
  mkdir -p "$HOME/.pki/nssdb"
  certutil -d "sql:$HOME/.pki/nssdb" -N --empty-password
  certutil -d "sql:$HOME/.pki/nssdb" -A -n slipway -t C,, -i "${AUTHORITY}"
fi
"""

logger = logging.getLogger(__name__)


class ChromiumError(Exception):
    """The error that is raised when Chromium is not installed or does not start. The text says what to do."""


def find_chromium() -> Path | None:
    """Returns the path of an installed Chromium: searches PATH for each of the program names NAMES, in this
    order. Returns None if none of these programs is installed.
    """
    found = (shutil.which(name) for name in NAMES)
    return next((Path(path) for path in found if path), None)


class Chromium:
    """A running Chromium browser. The object holds Chromium's main process, which leads the process group of
    all processes of the browser, and the runtime's end of the socket to the browser.
    """

    def __init__(self, process: asyncio.subprocess.Process, ours: socket.socket) -> None:
        self._process = process
        self.socket = ours
        self._stderr_lines: deque[bytes] = deque(maxlen=_STDERR_LINES)
        self._listening = asyncio.create_task(self._listen())

    @property
    def pid(self) -> int:
        return self._process.pid

    async def last_words(self) -> str:
        """Returns the end of the text that Chromium wrote to standard error. Call this method after Chromium
        has ended.
        """
        await asyncio.wait({self._listening}, timeout=EXIT_SECONDS)
        return b"".join(self._stderr_lines).decode(errors="replace").strip()

    async def wait(self) -> int:
        return await self._process.wait()

    async def end(self) -> None:
        """Ends all processes of Chromium. Safe to call twice."""
        signal_group_of(self._process, signal.SIGKILL)
        self.socket.close()
        await self._process.wait()
        # Its last words may still be on their way; a process that it let go could keep the pipe open.
        await asyncio.wait({self._listening}, timeout=_REST_SECONDS)
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.read(8192):
            self._stderr_lines.append(line[-2000:])


async def launch(executable: Path, profile: Path, *, sandboxed: bool) -> Chromium:
    """Starts Chromium and returns the running browser.

    `executable`: the path of the Chromium program. `profile`: Chromium's profile directory, which other users
    cannot read. `sandboxed`: whether each page runs in Chromium's sandbox.
    """
    ours, theirs = socket.socketpair()
    # The descriptor must not be 3 or 4, to which bash copies it below.
    inherited = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD, _FIRST_FREE_DESCRIPTOR)
    theirs.close()
    arguments = [*_ARGUMENTS, f"--user-data-dir={profile}", *([] if sandboxed else [_NO_SANDBOX])]
    try:
        process = await start_process(
            bash_path(),
            "-c",
            f'{_TRUST_AUTHORITY}exec "$0" "$@" 3<&{inherited} 4>&{inherited} {inherited}<&-',
            str(executable),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=profile,
            env=command_environment(_at_home_in(profile)),
            pass_fds=(inherited,),
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        os.close(inherited)
    return Chromium(process, ours)


def may_be_sandboxed() -> bool:
    """Returns whether Chromium's sandbox can be used. Returns False if this process runs as root, because the
    sandbox does not work for root.
    """
    return os.geteuid() != 0


def _at_home_in(profile: Path) -> dict[str, str]:
    """Returns the environment variables that make Chromium write only to its profile directory."""
    return {
        "HOME": str(profile),
        "TMPDIR": str(profile),
        "XDG_CONFIG_HOME": str(profile / "config"),
        "XDG_CACHE_HOME": str(profile / "cache"),
        # Keeps the browser from the machine's X server and session bus.
        "DISPLAY": "",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
    }
