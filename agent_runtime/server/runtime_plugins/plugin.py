"""What runs beside the agent server in a sandbox, for people or for tools: VS Code, a desktop, and others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Absence:
    """Why one cannot be had here, and how to get it. `code`: stable, for the API."""

    code: str
    reason: str
    fix: str


class RuntimePluginError(Exception):
    """One did not start. The text says why; `output`: the last it wrote."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


class RuntimePlugin(Protocol):
    """One of them. Methods are not called side by side: the registry sees to that."""

    name: str
    title: str

    def absence(self) -> Absence | None:
        """None when it is here. A moment's look at the disk."""


class Startable(RuntimePlugin, Protocol):
    """One that is started when a user opens it, and is reached through `port`.

    Nothing listens on that port: it is the name by which the relay of ports knows `socket`, a Unix socket
    that no other user, no other sandbox and no web page can reach.
    """

    port: int

    @property
    def socket(self) -> Path | None:
        """Where it answers; None while it does not run."""

    async def is_healthy(self) -> bool:
        """Whether it answers now. Must not raise."""

    async def start(self) -> None:
        """Returns when it answers. RuntimePluginError when it does not; then nothing of it is left."""

    async def stop(self) -> None:
        """Ends all of it. Safe to call twice."""
