"""What a sandbox backend can do: Docker, processes, and hosts that run Docker for us (remote/)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from uuid import UUID

from app_server.core.errors import StartCode, StartFailure
from app_server.core.start_report import Report
from app_server.sandbox_backends.workspace_tar import TarSink, TarSource
from app_server.sandbox_images.base_image import BaseImage

MachineState = Literal["running", "halted", "stopped"]


@dataclass(frozen=True)
class WorkspaceCapacity:
    """How much a new workspace can hold: `bytes`, None for as much as there is.

    `kept_by`: a disk of that size, which cannot be overrun; a watch, which stops a sandbox once it holds
    more; or nothing. `reason`: why it is no disk.
    """

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]
    reason: str | None = None


@dataclass(frozen=True)
class SandboxKind:
    """What sandboxes are here, for the people who have to trust them.

    `isolation`: whether all of this machine is out of reach, all but its memory, or nothing.
    """

    backend: Literal["docker", "process", "remote"]
    isolation: Literal["full", "files", "none"]
    warning: str | None

    @property
    def is_isolated(self) -> bool:
        return self.isolation == "full"

    @property
    def closes_network(self) -> bool:
        """Whether nothing leads out of a sandbox but the way that is judged."""
        return self.isolation != "none"


@dataclass(frozen=True)
class Machine:
    """A started sandbox: where its agent server listens, and what the world looks like from inside."""

    spec_id: str
    url: str
    working_root: str
    inner_url: str
    """The app server's inner listener as the sandbox reaches it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that a call to its agent server needs on its way."""


@dataclass(frozen=True)
class MemoryCapacity:
    """Where a sandbox would start. `beside`: those that hold memory there; `capacity_bytes`: how much the
    limits of all sandboxes there may add up to, None: as much as they like.
    """

    beside: Collection[UUID]
    capacity_bytes: int | None


@dataclass(frozen=True)
class LastWords:
    """What a machine that does not answer left behind, as the parts of a StartFailure."""

    cause: str
    output: str
    code: StartCode = "sandbox_start_failed"
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

    async def prepare(
        self, report: Report, base: BaseImage | None = None, sandbox_id: UUID | None = None
    ) -> None:
        """Whatever starts wait for, like the image; one on this base, if a user has chosen it.

        sandbox_id: for whom, where that is known: it has to be there where that sandbox starts. Cheap when it
        is there.
        """

    async def start(
        self, sandbox_id: UUID, session_key: str, report: Report, base: str | None = None
    ) -> Machine:
        """The machine of this sandbox: adopted when it runs, else started on the workspace it had.

        session_key: what its agent server is handed at its start: `FirstKeys` as JSON, or the key alone.
        base: the name of what it was prepared with. Does not wait for the agent server to answer.
        """

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Those of them whose machine does not run (any more). Cheap: called every second."""

    async def find_lost(self, sandbox_ids: Collection[UUID], /) -> Mapping[UUID, StartFailure]:
        """Those of them whose host is out of reach, and why: it is not known whether they run."""

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

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        """Writes these parts of its workspace as a clean tar (workspace_tar.py), from a thread.

        folder: a directory of each part that takes its place; nothing beside it is written.
        What runs there is halted meanwhile, where the backend can halt it. `prepare` comes first. Raises
        StartFailure `workspace_missing` when there is no workspace.
        """

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        """A new workspace with what a clean tar holds, in place of the machine and workspace it had.

        Read from a thread. `prepare` comes first. When it fails, `delete` or another `restore` comes next.
        """

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        """Of new ones. What `examine` finds out may change it."""

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        """What the workspace of a running machine holds, where nothing but a watch limits that.

        May take seconds. None when a disk does, and when it cannot be told in time.
        """

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the machine and its workspace; nothing happens when there is none."""

    async def abandon(self, sandbox_id: UUID, /) -> None:
        """Whatever a lost host has of it counts no more, and stays there: `restore` puts it elsewhere."""

    async def forget(self, sandbox_id: UUID, /) -> None:
        """After `delete`, of one that is gone for good: what was abandoned goes, too."""

    def host_name(self, sandbox_id: UUID, /) -> str | None:
        """The host that has the sandbox; None where there is only one."""

    @property
    def spare_bytes(self) -> int:
        """The memory of machines that are kept ready for new sandboxes. They have no user yet."""

    async def spare_bytes_of_others(self) -> int:
        """The memory of those that other app servers on our database keep ready beside ours."""

    @property
    def lacks_spare(self) -> bool:
        """Whether `replenish` has something to do."""

    async def capacities(self) -> Sequence[int] | None:
        """How much the limits of all sandboxes may add up to, of each machine; None: as they like."""

    async def room_for(self, sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        """Where this one would start, while these hold memory."""

    async def replenish(self) -> None:
        """Readies one more of these, if one is lacking. Takes seconds then; cheap else."""

    async def yield_spare(self) -> bool:
        """Removes one of them, for its memory, at last one of the others'. False when there is none."""

    async def close(self) -> None:
        """Ends what cannot outlive the app server."""


class OneMachine:
    """What backends have in common whose sandboxes are all on one machine."""

    async def find_lost(self, _sandbox_ids: Collection[UUID], /) -> Mapping[UUID, StartFailure]:
        return {}

    async def abandon(self, _sandbox_id: UUID, /) -> None:
        return

    async def forget(self, _sandbox_id: UUID, /) -> None:
        return

    def host_name(self, _sandbox_id: UUID, /) -> str | None:
        return None

    async def capacities(self) -> Sequence[int] | None:
        return None

    async def spare_bytes_of_others(self) -> int:
        return 0

    async def room_for(self, _sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        capacities = await self.capacities()
        return MemoryCapacity(held, sum(capacities) if capacities else None)


def workspace_missing() -> StartFailure:
    return StartFailure(
        "workspace_missing",
        "The workspace of the sandbox is not there: it was removed by something other than Slipway.",
        fix="Start a new conversation.",
    )
