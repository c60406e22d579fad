"""Defines the interface of runtime plugins. Runtime plugins are programs that run beside the agent server,
for people or for tools, such as VS Code and a desktop.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Absence:
    """The reason why a runtime plugin (a program such as VS Code) is not available on this server.

    `code`: a short name of the reason for programs. It is part of the API and does not change. `reason`: the
    reason as a text for people. `fix`: advice on how to make the plugin available.
    """

    code: str
    reason: str
    fix: str


class RuntimePluginError(Exception):
    """The error that is raised when a runtime plugin (a program such as VS Code beside the agent server) did
    not start. The text gives the reason; `output` is the last part of the program's output.
    """

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


class RuntimePlugin(Protocol):
    """The interface of a runtime plugin: a program that runs beside the agent server, for people or for
    tools, such as VS Code or a desktop. The class RuntimePlugins never calls `start` and `stop` of one plugin
    at the same time.
    """

    name: str
    title: str

    def absence(self) -> Absence | None:
        """Returns None if the plugin is available, otherwise the reason why it is not. The call is fast,
        because it reads only a few directories.
        """


class Startable(RuntimePlugin, Protocol):
    """The interface of a runtime plugin that starts when a user opens it. Users reach the plugin through the
    URLs `/api/ports/{port}/relay/…`.

    `port`: the number in these URLs; no program listens on this TCP port. The plugin listens on the Unix
    socket `socket`, which no other user, no other sandbox and no web page can reach. The port relay (the part
    of the server that handles these URLs) uses the number to find this socket.
    """

    port: int

    @property
    def socket(self) -> Path | None:
        """The path of the Unix socket on which the plugin listens; None while the plugin does not run."""

    async def is_healthy(self) -> bool:
        """Returns whether the plugin answers requests now. Must not raise an exception."""

    async def start(self) -> None:
        """Starts the plugin and returns when the plugin answers requests.

        If the plugin does not answer, stops it and raises RuntimePluginError.
        """

    async def stop(self) -> None:
        """Stops all processes of the plugin. A second call has no effect."""
