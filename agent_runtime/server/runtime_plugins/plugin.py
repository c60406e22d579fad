"""Runtime plugins: programs beside the agent server, for people or for tools, such as VS
Code and a desktop.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Absence:
    """The reason why a plugin is not available here, and how to get it. `code` is stable
    and part of the API.
    """

    code: str
    reason: str
    fix: str


class RuntimePluginError(Exception):
    """A plugin did not start. The text says why; `output` is the end of what it printed."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


class RuntimePlugin(Protocol):
    """A runtime plugin. The registry never calls two methods of one plugin at the same time."""

    name: str
    title: str

    def absence(self) -> Absence | None:
        """Returns None if the plugin is available, else the reason. Reads only a few directories."""


class Startable(RuntimePlugin, Protocol):
    """A plugin that starts when a user opens it, and that is reached through `port`.

    No program listens on that port. It is the number by which the relay of ports finds `socket`, a Unix
    socket that no other user, no other sandbox and no web page can reach.
    """

    port: int

    @property
    def socket(self) -> Path | None:
        """The Unix socket of the plugin; None while it does not run."""

    async def is_healthy(self) -> bool:
        """Returns whether the plugin answers now. Must not raise."""

    async def start(self) -> None:
        """Starts the plugin and returns when it answers.

        If it does not, stops it and raises RuntimePluginError.
        """

    async def stop(self) -> None:
        """Stops all processes of the plugin. Safe to call twice."""
