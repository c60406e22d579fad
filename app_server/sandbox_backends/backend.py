"""The interface of sandbox backends. There are three: Docker containers on this machine, processes on this
machine, and other hosts that run Docker for this app server (remote/).
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
    """The size limit of new workspaces. `bytes`: None means no limit.

    `kept_by`: how the limit is enforced. With "disk", each workspace is a disk of that size. With "watch",
    the app server measures workspaces and stops a sandbox whose workspace is larger. With "none", there is no
    limit. `reason`: why no disk is used.
    """

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]
    reason: str | None = None


@dataclass(frozen=True)
class SandboxKind:
    """How a backend isolates its sandboxes, as shown to users.

    `isolation`: "full" isolates sandboxes from everything on this machine, "files" from everything but the
    machine's memory, "none" from nothing.
    """

    backend: Literal["docker", "process", "remote"]
    isolation: Literal["full", "files", "none"]
    warning: str | None

    @property
    def is_isolated(self) -> bool:
        return self.isolation == "full"

    @property
    def closes_network(self) -> bool:
        """Returns whether sandboxes can reach the network only through the app server, which checks each
        connection.
        """
        return self.isolation != "none"


@dataclass(frozen=True)
class Machine:
    """The running container or process of a sandbox: the address of its agent server, and the addresses and
    paths that programs in the sandbox see.
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
    """The memory for sandboxes on the machine where a sandbox would start.

    `beside`: the other sandboxes that hold memory on that machine. `capacity_bytes`: the limit for the sum of
    the memory limits of all sandboxes on that machine; None means no limit.
    """

    beside: Collection[UUID]
    capacity_bytes: int | None


@dataclass(frozen=True)
class LastWords:
    """Why the machine of a sandbox does not answer, and the end of its output. The fields become those of a
    StartFailure.
    """

    cause: str
    output: str
    code: StartCode = "sandbox_start_failed"
    fix: str = "Read the output; fix the cause, then retry the start."


class Backend(Protocol):
    """Starts, finds and removes the machines of this installation. A machine is the container or process of
    one sandbox.

    A machine is identified by its sandbox's id alone. A backend stores all else that it needs to find the
    machine after a restart of the app server. All methods may raise StartFailure if the container engine does
    not answer.
    """

    @property
    def kind(self) -> SandboxKind:
        """Returns how this backend isolates its sandboxes. The isolation does not change after `open`;
        `examine` may add a warning.
        """

    async def open(self) -> None:
        """Prepares the backend. Raises StartFailure if the backend cannot work on this machine."""

    async def secure(self) -> None:
        """Prevents sandboxes from reaching services of this host, as far as possible.

        Called before the server listens for connections of sandboxes.
        """

    async def examine(self) -> None:
        """Tests with a started machine what sandboxes can reach and whether disks work. A gap that is found
        becomes the warning of `kind`.

        Takes seconds the first time, later nearly none.
        """

    def inner_addresses(self) -> list[str]:
        """Returns the addresses of this host on which the inner listener (the app server's port for
        sandboxes) must answer.
        """

    async def prepare(
        self, report: Report, base: BaseImage | None = None, sandbox_id: UUID | None = None
    ) -> None:
        """Prepares what a start needs, such as the image. Takes little time if everything is prepared
        already.

        base: the base image that a user has chosen; None means the default. sandbox_id: the sandbox that will
        start, if known; the image is prepared on the machine where that sandbox will start.
        """

    async def start(
        self, sandbox_id: UUID, session_key: str, report: Report, base: str | None = None
    ) -> Machine:
        """Returns the sandbox's machine: the running one, or a new one with the sandbox's workspace.

        session_key: what the agent server is given at its start: `FirstKeys` as JSON, or the key alone. base:
        the name of the base image with which `prepare` was called. Does not wait until the agent server
        answers.
        """

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Returns the ids of those given sandboxes whose machine does not run. This method must be fast,
        because it is called every second.
        """

    async def find_lost(self, sandbox_ids: Collection[UUID], /) -> Mapping[UUID, StartFailure]:
        """Returns those given sandboxes whose sandbox host cannot be reached, each with the failure. The
        machines of these sandboxes may still be running.
        """

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        """Returns why the sandbox's machine ended, and the end of its output. Also works while the machine
        runs.
        """

    async def freeze(self, sandbox_id: UUID) -> None:
        """Pauses the sandbox's machine with all its processes; `start` resumes the machine within moments.

        A backend that cannot pause machines ends the machine.
        """

    async def find_frozen(self) -> set[UUID]:
        """Returns the sandboxes whose machines are paused and hold memory, including sandboxes of other
        installations.
        """

    async def stop(self, sandbox_id: UUID) -> None:
        """Ends the sandbox's machine. The workspace stays for the next start. Does nothing if there is no
        machine.
        """

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        """Writes these parts of the sandbox's workspace to `sink`, as a tar with the restrictions of
        workspace_tar.py. Runs in a thread.

        folder: a directory in each part; if given, only the content of this directory is written instead of
        the whole part. Running processes are paused meanwhile if the backend can do that. Call `prepare`
        first. Raises StartFailure `workspace_missing` if there is no workspace.
        """

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        """Deletes the sandbox's machine and workspace, then unpacks a tar that `export` has written into a
        new workspace.

        The tar is read in a thread. Call `prepare` first. After a failure, call `delete` or `restore` again.
        """

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        """Returns the size limit of new workspaces. `examine` may change the limit."""

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        """Returns the size in bytes of a running sandbox's workspace if the app server enforces the size
        limit by measuring.

        May take seconds. Returns None if a disk limits the workspace, or if the size cannot be measured in
        time.
        """

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the sandbox's machine and workspace. Does nothing if there are none."""

    async def abandon(self, sandbox_id: UUID, /) -> None:
        """Removes the sandbox's assignment to a lost host, so that `restore` can create the sandbox on
        another host.

        The data on the lost host stays there.
        """

    async def forget(self, sandbox_id: UUID, /) -> None:
        """Removes the data of the sandbox that was left on lost hosts by `abandon`. Called after `delete`,
        when the sandbox is gone for good.
        """

    def host_name(self, sandbox_id: UUID, /) -> str | None:
        """Returns the name of the host on which the sandbox is. Returns None for backends with only one
        machine.
        """

    @property
    def spare_bytes(self) -> int:
        """Returns the memory in bytes of the machines that this server keeps ready for new sandboxes."""

    async def spare_bytes_of_others(self) -> int:
        """Returns the memory in bytes of machines that other app servers on the same database keep ready."""

    @property
    def lacks_spare(self) -> bool:
        """Returns whether fewer machines are kept ready for new sandboxes than configured. Then `replenish`
        has work to do.
        """

    async def capacities(self) -> Sequence[int] | None:
        """Returns one limit for each host: the limit in bytes for the sum of its sandboxes' memory limits.

        Returns None if there is no limit.
        """

    async def room_for(self, sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        """Returns the memory of the host on which this sandbox would start. held: all sandboxes that hold
        memory.
        """

    async def replenish(self) -> None:
        """Prepares one more machine for new sandboxes, if fewer are ready than configured. Takes seconds."""

    async def yield_spare(self) -> bool:
        """Removes one machine that is kept ready, to free its memory. If this server has none, removes one of
        another server.

        Returns False if there is no such machine.
        """

    async def close(self) -> None:
        """Ends the machines that cannot run without the app server."""


class OneMachine:
    """The methods that backends share whose sandboxes are all on one machine."""

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
