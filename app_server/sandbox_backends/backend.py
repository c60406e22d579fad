"""The interface of sandbox backends: Docker, processes, and other hosts that run Docker for us (remote/)."""

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
    """The size limit of new workspaces. `bytes`: None means no limit.

    `kept_by`: "disk" is a disk of that size, which cannot be exceeded; "watch" measures workspaces and stops
    a sandbox that holds more; "none" is no limit. `reason`: why no disk is used.
    """

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]
    reason: str | None = None


@dataclass(frozen=True)
class SandboxKind:
    """The isolation of this backend's sandboxes, as shown to users.

    `isolation`: "full" isolates from everything on this machine, "files" from everything but its memory,
    "none" from nothing.
    """

    backend: Literal["docker", "process", "remote"]
    isolation: Literal["full", "files", "none"]
    warning: str | None

    @property
    def is_isolated(self) -> bool:
        return self.isolation == "full"

    @property
    def closes_network(self) -> bool:
        """Whether a sandbox can reach the network only through the app server, which
        judges each connection.
        """
        return self.isolation != "none"


@dataclass(frozen=True)
class Machine:
    """A started sandbox: the address of its agent server, and the addresses and paths
    that the sandbox sees.
    """

    spec_id: str
    url: str
    working_root: str
    inner_url: str
    """The URL of the app server's inner listener, as the sandbox reaches it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that calls to the agent server need on their way."""


@dataclass(frozen=True)
class MemoryCapacity:
    """The memory of the machine on which a sandbox would start.

    `beside`: the sandboxes that hold memory there.
    `capacity_bytes`: the limit for the sum of all sandboxes' memory limits there; None means no limit.
    """

    beside: Collection[UUID]
    capacity_bytes: int | None


@dataclass(frozen=True)
class LastWords:
    """Why a machine does not answer, and the end of its output, as parts of a StartFailure."""

    cause: str
    output: str
    code: StartCode = "sandbox_start_failed"
    fix: str = "Read the output; fix the cause, then retry the start."


class Backend(Protocol):
    """Starts, finds and removes the machines of this installation.

    A machine is identified by its sandbox's id alone. A backend stores all else that it needs to find the
    machine after a restart of the app server. All methods may raise StartFailure if the engine does not
    answer.
    """

    @property
    def kind(self) -> SandboxKind:
        """The isolation of sandboxes. It no longer changes after `open`."""

    async def open(self) -> None:
        """Prepares the backend. Raises StartFailure if it cannot work here."""

    async def secure(self) -> None:
        """Closes this host's services to the machines as far as possible.

        Called before the server listens to them.
        """

    async def examine(self) -> None:
        """Tests what only a started machine shows, for `kind`.

        Takes seconds the first time, later nearly none.
        """

    def inner_addresses(self) -> list[str]:
        """Returns the addresses of this host on which the inner listener must answer."""

    async def prepare(
        self, report: Report, base: BaseImage | None = None, sandbox_id: UUID | None = None
    ) -> None:
        """Prepares what starts need, such as the image. Takes little time if it is there already.

        base: the base image that a user has chosen; None means the default.
        sandbox_id: the sandbox that will start, if known; the image is prepared on the machine where it will
        start.
        """

    async def start(
        self, sandbox_id: UUID, session_key: str, report: Report, base: str | None = None
    ) -> Machine:
        """Returns the sandbox's machine: the running one, or a new one with the sandbox's workspace.

        session_key: what its agent server is given at its start: `FirstKeys` as JSON, or the key alone.
        base: the name of the base image with which `prepare` was called.
        Does not wait until the agent server answers.
        """

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Returns the ids of those given sandboxes whose machine does not run. It must be fast, because it is
        called every second.
        """

    async def find_lost(self, sandbox_ids: Collection[UUID], /) -> Mapping[UUID, StartFailure]:
        """Returns those given sandboxes whose sandbox host cannot be reached, each with the failure. Their
        machines may still be running.
        """

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        """Returns how the machine ended and the end of its output. Also works while the machine runs."""

    async def freeze(self, sandbox_id: UUID) -> None:
        """Pauses the machine with all its processes; `start` resumes it within moments.

        A backend that cannot pause a machine ends it.
        """

    async def find_frozen(self) -> set[UUID]:
        """Returns the sandboxes whose machines are paused and hold
        memory, also those of other installations.
        """

    async def stop(self, sandbox_id: UUID) -> None:
        """Ends the machine. Its workspace stays for the next start. Does nothing if there is no machine."""

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        """Writes these parts of the workspace to `sink` as a clean tar (workspace_tar.py), from a thread.

        folder: a directory in each part; if given, only its content is written, in place of the part's.
        Running processes are paused meanwhile if the backend can do that. Call `prepare` first. Raises
        StartFailure `workspace_missing` if there is no workspace.
        """

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        """Deletes the sandbox's machine and workspace, then unpacks a clean tar into a new workspace.

        The tar is read in a thread. Call `prepare` first. After a failure, call `delete` or `restore` again.
        """

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        """The size limit of new workspaces. `examine` may change it."""

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        """Returns the size of a running machine's workspace in bytes, if it is only limited by measuring.

        May take seconds. Returns None if a disk limits the workspace, or if it cannot be measured in time.
        """

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the machine and its workspace. Does nothing if there is none."""

    async def abandon(self, sandbox_id: UUID, /) -> None:
        """Gives up what a lost host has of the sandbox, so that `restore` can put it on another host.

        The data on the lost host stays there.
        """

    async def forget(self, sandbox_id: UUID, /) -> None:
        """Removes what was abandoned of a sandbox. Called after `delete`, when the
        sandbox is gone for good.
        """

    def host_name(self, sandbox_id: UUID, /) -> str | None:
        """Returns the name of the host that has the sandbox. None for backends with only one machine."""

    @property
    def spare_bytes(self) -> int:
        """The memory in bytes of machines that are kept ready for new sandboxes."""

    async def spare_bytes_of_others(self) -> int:
        """Returns the memory in bytes of machines that other app servers on the same database keep ready."""

    @property
    def lacks_spare(self) -> bool:
        """Whether a machine is missing among those kept ready, so that `replenish` has work to do."""

    async def capacities(self) -> Sequence[int] | None:
        """Returns for each machine the limit for the sum of its sandboxes' memory limits.

        None means no limit.
        """

    async def room_for(self, sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        """Returns the memory of the machine on which this sandbox would
        start. held: all sandboxes that hold memory.
        """

    async def replenish(self) -> None:
        """Makes one more machine ready, if one is missing. That takes seconds."""

    async def yield_spare(self) -> bool:
        """Removes one ready machine to free its memory; if this server has none, one of another server.

        Returns False if there is none.
        """

    async def close(self) -> None:
        """Ends what cannot run without the app server."""


class OneMachine:
    """Shared methods of backends whose sandboxes are all on one machine."""

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
        "The workspace of the sandbox is missing: another program has removed it.",
        fix="Start a new conversation.",
    )
