"""What a sandbox backend can do. Docker and plain processes are the two there are."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

Report = Callable[[str], None]
"""Takes one line about what a start is doing or waiting for."""


@dataclass(frozen=True)
class SandboxKind:
    """What sandboxes are here, for the people who have to trust them."""

    backend: Literal["docker", "process"]
    is_isolated: bool
    warning: str | None


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

    kind: SandboxKind

    async def open(self) -> None:
        """Gets ready; raises StartFailure if this backend cannot work here."""

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

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the machine and its workspace; nothing happens when there is none."""

    async def close(self) -> None:
        """Ends what cannot outlive the app server."""
