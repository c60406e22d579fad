"""The interface of sandbox backends, which start and stop sandboxes. There are three backends: Docker
containers on this machine, processes on this machine, and sandboxes on other hosts that run Docker for this
app server (remote/).
"""

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
    """The size limit of new workspaces, and how it is enforced. A workspace is the directory of a sandbox's
    files. `bytes`: the limit; None means no limit. `kept_by`: with "disk", each workspace is a separate disk
    of that size. With "watch", the app server measures workspaces and stops a sandbox whose workspace is too
    large. With "none", there is no limit. `reason`: why workspaces are not separate disks.
    """

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]
    reason: str | None = None


@dataclass(frozen=True)
class SandboxKind:
    """The kind of isolation that a backend gives its sandboxes, as shown to users.

    `isolation`: with "full", sandboxes are isolated from everything on this machine. With "files", they can
    use up the machine's memory but are isolated from the rest. With "none", they are not isolated.
    """

    backend: Literal["docker", "process", "remote"]
    isolation: Literal["full", "files", "none"]
    warning: str | None

    @property
    def is_isolated(self) -> bool:
        return self.isolation == "full"

    @property
    def closes_network(self) -> bool:
        """Returns whether sandboxes of this kind can reach the network only through the app server, which
        checks each connection.
        """
        return self.isolation != "none"


@dataclass(frozen=True)
class Machine:
    """The running container or process of one sandbox. The fields are the address of its agent server, and
    the addresses and paths that programs in the sandbox see.
    """

    spec_id: str
    url: str
    working_root: str
    inner_url: str
    """The URL of the app server's inner listener, as the sandbox reaches it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers that calls to the agent server must have, for a proxy on the way."""


@dataclass(frozen=True)
class MemoryCapacity:
    """The memory available for sandboxes on the machine where a given sandbox would start.

    `beside`: the ids of the other sandboxes that use memory on that machine. `capacity_bytes`: the maximum
    for the sum of the memory limits of all sandboxes on that machine; None means no maximum.
    """

    beside: Collection[UUID]
    capacity_bytes: int | None


@dataclass(frozen=True)
class LastWords:
    """The reason why the container or process of a sandbox does not answer, and the last output of the
    container or process. The fields are copied into a StartFailure.
    """

    cause: str
    output: str
    code: StartCode = "sandbox_start_failed"
    fix: str = "Read the output; fix the cause, then retry the start."


class Backend(Protocol):
    """A sandbox backend: starts, finds and removes the machines of this installation. A machine is the
    container or process of one sandbox.

    Callers identify a machine only by its sandbox's id. The backend stores all other data that it needs to
    find the machine after a restart of the app server. All methods may raise StartFailure if the container
    engine does not answer.
    """

    @property
    def kind(self) -> SandboxKind:
        """Returns how this backend isolates its sandboxes. The isolation does not change after `open`, but
        `examine` may add a warning.
        """

    async def open(self) -> None:
        """Prepares the backend. Raises StartFailure if the backend cannot work on this machine."""

    async def secure(self) -> None:
        """Blocks connections of sandboxes to this host, except to the app server's port for sandboxes. Raises
        no error if the host does not permit this.

        Called before the server listens for connections of sandboxes.
        """

    async def examine(self) -> None:
        """Starts a test sandbox to find out what sandboxes can reach on this host and whether each workspace
        can be a separate disk with a size limit. If the isolation has a gap, the property `kind` then
        contains a warning.

        The first call takes seconds, later calls take almost no time.
        """

    def inner_addresses(self) -> list[str]:
        """Returns the addresses of this host on which the inner listener (the app server's port for
        sandboxes) must answer.
        """

    async def prepare(
        self, report: Report, base: BaseImage | None = None, sandbox_id: UUID | None = None
    ) -> None:
        """Prepares what the start of a sandbox needs, such as the image. Takes little time if everything is
        prepared already.

        report: receives lines about the progress. base: the base image that a user has chosen; None means the
        default. sandbox_id: the sandbox that will start, if known; the image is prepared on the host where
        that sandbox will start.
        """

    async def start(
        self, sandbox_id: UUID, session_key: str, report: Report, base: str | None = None
    ) -> Machine:
        """Returns the sandbox's machine: the running one, or a new one that uses the sandbox's workspace.

        Does not wait until the agent server answers. session_key: the text that the agent server gets at its
        start: only the key that its clients must send, or JSON with this key and its signing keys.
        base: the name of the base image that `prepare` has prepared; None means the default base image.
        """

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Returns those of the given sandboxes whose machine does not run. An implementation must be fast,
        because this method is called every second.
        """

    async def find_lost(self, sandbox_ids: Collection[UUID], /) -> Mapping[UUID, StartFailure]:
        """Returns those of the given sandboxes whose sandbox host cannot be reached, each with the failure.
        The machines of these sandboxes may still be running.
        """

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        """Returns why the sandbox's machine ended, and the end of the machine's output. Can also be called
        while the machine runs.
        """

    async def freeze(self, sandbox_id: UUID) -> None:
        """Pauses the sandbox's machine with all its processes. After that, `start` resumes the machine within
        moments.

        A backend that cannot pause machines ends the machine.
        """

    async def find_frozen(self) -> set[UUID]:
        """Returns the ids of the sandboxes whose machines are paused and use memory. Includes sandboxes of
        other installations.
        """

    async def stop(self, sandbox_id: UUID) -> None:
        """Ends the sandbox's machine. The workspace stays and is used by the next start. Does nothing if
        there is no machine.
        """

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        """Writes these parts of the sandbox's workspace to `sink` as a tar. The tar has the restrictions of
        workspace_tar.py. Runs in a thread.

        folder: a directory in each part; if given, only the content of this directory is written, and not the
        whole part. Running processes are paused meanwhile if the backend can do that. Call `prepare` first.
        Raises StartFailure `workspace_missing` if there is no workspace.
        """

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        """Replaces the sandbox's workspace by the content of a tar that `export` has written. Deletes the
        sandbox's machine and old workspace first.

        The tar is read in a thread. Call `prepare` first. After a failure, call `delete` or `restore` again.
        """

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        """The size limit of new workspaces, and how it is enforced. The value may change when `examine` has
        tested whether each workspace can be a separate disk.
        """

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        """Measures the size in bytes of a running sandbox's workspace, for backends where the app server
        enforces the size limit by measuring.

        May take seconds. Returns None if a disk limits the workspace, or if the measurement takes too long.
        """

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the sandbox's machine and workspace. Does nothing if there are none."""

    async def abandon(self, sandbox_id: UUID, /) -> None:
        """Stops using the sandbox host that has this sandbox, because the host cannot be reached. After that,
        `restore` can create the sandbox on another host.

        The data on the unreachable host stays there.
        """

    async def forget(self, sandbox_id: UUID, /) -> None:
        """Removes the data of a deleted sandbox that is still on its former hosts: hosts that could not be
        reached when the sandbox was moved to another host by `abandon`. Called after `delete`.
        """

    def host_name(self, sandbox_id: UUID, /) -> str | None:
        """Returns the name of the sandbox host on which the sandbox is. Returns None for backends that use
        only one machine.
        """

    @property
    def spare_bytes(self) -> int:
        """Returns the memory in bytes of the machines that this app server keeps ready for new sandboxes."""

    async def spare_bytes_of_others(self) -> int:
        """Returns the memory in bytes of the machines that other app servers on the same database keep ready
        for new sandboxes.
        """

    @property
    def lacks_spare(self) -> bool:
        """Returns whether this app server keeps fewer machines ready for new sandboxes than configured. If
        so, `replenish` prepares another machine.
        """

    async def capacities(self) -> Sequence[int] | None:
        """Returns the memory capacity of each host in bytes: the maximum for the sum of the memory limits of
        the host's sandboxes.

        Returns None if the memory is not limited.
        """

    async def room_for(self, sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        """Returns the memory capacity of the host on which this sandbox would start. held: the ids of all
        sandboxes that use memory.
        """

    async def replenish(self) -> None:
        """Prepares one more machine for new sandboxes, if fewer are ready than configured. Takes seconds."""

    async def yield_spare(self) -> bool:
        """Removes one machine that is kept ready for new sandboxes, to free its memory. If this app server
        keeps none ready, removes a machine of another app server.

        Returns False if there is no such machine.
        """

    async def close(self) -> None:
        """Releases the backend's resources when the app server ends. Ends the machines that cannot run
        without the app server.
        """


class OneMachine:
    """The base class of backends whose sandboxes are all on one machine. Contains the methods that are the
    same in all these backends.
    """

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
