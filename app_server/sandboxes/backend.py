"""What a sandbox backend can do. Docker and processes are the two there are."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

Report = Callable[[str], None]
"""Takes one line about what a start is doing or waiting for."""


@dataclass(frozen=True)
class SandboxKind:
    """What sandboxes are here, for the people who have to trust them.

    `isolation`: whether all of this machine is out of reach, its files and processes only, or nothing.
    """

    backend: Literal["docker", "process"]
    isolation: Literal["full", "files", "none"]
    warning: str | None

    @property
    def is_isolated(self) -> bool:
        return self.isolation == "full"


@dataclass(frozen=True)
class Machine:
    """A started sandbox: where its agent server listens, and what the world looks like from inside."""

    spec_id: str
    url: str
    working_root: str
    inner_url: str
    """The app server's inner listener as the sandbox reaches it."""


@dataclass(frozen=True)
class LastWords:
    """What a machine that does not answer left behind, as the parts of a StartFailure."""

    cause: str
    output: str
    code: str = "sandbox_start_failed"
    fix: str = "Read the output; retry the start when its cause is gone."


class Backend(Protocol):
    """Starts, finds and removes the machines of this installation.

    A machine is known by its sandbox's id alone: whatever else a backend needs to find it again after a
    restart of the app server, it keeps itself. All methods may raise StartFailure when the engine below
    does not answer.
    """

    @property
    def kind(self) -> SandboxKind:
        """Final once this is open."""

    async def open(self) -> None:
        """Gets ready; raises StartFailure if this backend cannot work here."""

    async def secure(self) -> None:
        """Closes this host to the machines as far as it may, for a server that is about to listen to them."""

    async def examine(self) -> None:
        """Finds out what only a started machine shows, for `kind` to tell. Seconds, once; then cheap."""

    def inner_addresses(self) -> list[str]:
        """Addresses of this host on which the inner listener must answer."""

    async def prepare(self, report: Report) -> None:
        """Whatever all starts wait for, like the image. Cheap when it is there."""

    async def start(self, sandbox_id: UUID, session_key: str, report: Report) -> Machine:
        """The machine of this sandbox: adopted when it runs, else started on the workspace it had.

        Does not wait for the agent server to answer.
        """

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Those of them whose machine does not run (any more). Cheap: called every second."""

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        """How the machine ended and the last it wrote; also while it runs."""

    async def freeze(self, sandbox_id: UUID) -> None:
        """Halts the machine with all that runs in it: `start` lets it go on from there, within moments.

        Ends it where the backend cannot halt one.
        """

    async def find_frozen(self) -> set[UUID]:
        """The machines that are halted, and still hold their memory; also those of other installations."""

    async def stop(self, sandbox_id: UUID) -> None:
        """Ends the machine; its workspace stays for the next start. Nothing happens when there is none."""

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the machine and its workspace; nothing happens when there is none."""

    async def close(self) -> None:
        """Ends what cannot outlive the app server."""
