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
    files.

    `bytes`: the limit; None means no limit. `kept_by`: how the limit is enforced. "disk": each workspace is a
    separate disk of that size. "watch": the app server measures workspaces and stops a sandbox whose
    workspace is too large. "none": there is no limit. `reason`: with "watch", why workspaces are not separate
    disks; None if the sandboxes are on other hosts. None with "disk" and "none".
    """

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]
    reason: str | None = None


@dataclass(frozen=True)
class SandboxKind:
    """The kind of isolation that a backend gives its sandboxes, as shown to users.

    `isolation`: with "full", sandboxes are isolated from everything on this machine. With "files", sandboxes
    can use all memory of this machine, but are isolated from everything else. With "none", they are not
    isolated. `warning`: a text for users about gaps in the isolation; None if there is no gap.
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
    """The running container or process of one sandbox, with its addresses. `spec_id`: the name of the
    sandbox's image. For a container on another host, it has the prefix `remote:`. For a process, which has no
    image, it is `process`. `url`: the address at which the app server reaches the agent server.
    `working_root`: the directory in the sandbox that contains the files on which agents work.
    """

    spec_id: str
    url: str
    working_root: str
    inner_url: str
    """The URL at which programs in the sandbox reach the app server's inner listener, which is its port for
    sandboxes.
    """
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers that the app server adds to its calls to the agent server. They are needed if the agent
    server runs on a sandbox host (another machine), which forwards the calls. Empty if the agent server runs
    on this machine.
    """


@dataclass(frozen=True)
class MemoryCapacity:
    """The memory for sandboxes on one machine: the machine where a given sandbox will start.

    `beside`: the ids of the other sandboxes that use memory on that machine. `capacity_bytes`: the maximum
    for the sum of the memory limits of all sandboxes on that machine. None means that there is no maximum, or
    that it is not known because the machine cannot be reached.
    """

    beside: Collection[UUID]
    capacity_bytes: int | None


@dataclass(frozen=True)
class LastWords:
    """Why the container or process of a sandbox does not answer, and the end of its output. A StartFailure,
    the error that says why a sandbox does not start, gets these data.
    """

    cause: str
    output: str
    code: StartCode = "sandbox_start_failed"
    fix: str = "Read the output; fix the cause, then retry the start."


class Backend(Protocol):
    """A sandbox backend: starts, finds and removes the machines of this installation. A machine is the
    container or process of one sandbox.

    Callers identify a machine only by the id of its sandbox. The backend stores all other data that it needs
    to find the machine after a restart of the app server. All methods may raise StartFailure if the container
    engine does not answer.
    """

    @property
    def kind(self) -> SandboxKind:
        """Returns how this backend isolates its sandboxes. The isolation does not change after the call of
        `open`, but `examine` may add a warning to this value.
        """

    async def open(self) -> None:
        """Prepares the backend, for example connects to the container engine. Raises StartFailure if the
        backend cannot work on this machine.
        """

    async def secure(self) -> None:
        """Blocks connections of sandboxes to this host, except to the app server's port for sandboxes. Raises
        no error if the host does not permit this.

        Called before the server listens for connections of sandboxes.
        """

    async def keep_secure(self) -> None:
        """Blocks the connections of `secure` again if another program has removed the packet filter rules,
        for example by a reload of the host's firewall. Called every few seconds. Raises no error: if the
        rules cannot be set, the property `kind` contains a warning.
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
        """Starts the sandbox and returns its container or process. Returns the existing container or process
        if it already runs. A new container or process uses the sandbox's existing workspace.

        Does not wait until the agent server answers. session_key: a text for the agent server. It is the
        session key, with which the app server and the sandbox authenticate to each other. It can also be a
        JSON text with this key and further keys, with which the agent server signs stored settings of
        conversations. base: the name of the base image that `prepare` has prepared; None means the default
        base image.
        """

    async def find_dead(self, sandbox_ids: Collection[UUID]) -> set[UUID]:
        """Returns the ids of those of the given sandboxes whose container or process does not run. The method
        must be fast, because it is called every second.
        """

    async def find_lost(self, sandbox_ids: Collection[UUID], /) -> Mapping[UUID, StartFailure]:
        """Returns those of the given sandboxes whose sandbox host (another machine that runs sandboxes)
        cannot be reached. For each, the result contains the id of the sandbox and the error that says why.
        The containers of these sandboxes may still be running.
        """

    async def last_words(self, sandbox_id: UUID) -> LastWords:
        """Returns why the sandbox's container or process has ended, and the end of its output. Can also be
        called while the container or process runs.
        """

    async def freeze(self, sandbox_id: UUID) -> None:
        """Pauses all processes of the sandbox. After that, `start` resumes them within moments.

        A backend that cannot pause a sandbox ends the sandbox's processes.
        """

    async def find_frozen(self) -> set[UUID]:
        """Returns the ids of the sandboxes that are paused and still use memory. Includes sandboxes of other
        installations.
        """

    async def stop(self, sandbox_id: UUID) -> None:
        """Ends the container or process of the sandbox. The workspace is kept, and the next start uses it.
        Does nothing if the sandbox has no container or process.
        """

    async def export(
        self, sandbox_id: UUID, parts: Sequence[str], sink: TarSink, folder: str | None = None
    ) -> None:
        """Writes the given parts (top directories) of the sandbox's workspace to `sink` as a tar. The tar
        contains only directories, regular files and links (see workspace_tar.py). Reads the files in a
        separate thread.

        folder: a directory in each part; None for the whole part. If given, only the content of this
        directory is written, and the directory's name is left out of the paths: for the folder `src`, the
        file `project/src/a.py` becomes `project/a.py`. The sandbox's processes are paused during the export
        if the backend can do that. Call `prepare` first. Raises StartFailure `workspace_missing` if there is
        no workspace.
        """

    async def restore(self, sandbox_id: UUID, source: TarSource) -> None:
        """Replaces the sandbox's workspace by the content of a tar that `export` has written. Before that,
        deletes the sandbox's container or process and its old workspace.

        The tar is read in a separate thread. Call `prepare` first. After a failure, repeat `restore`, or call
        `delete`.
        """

    @property
    def workspace_limit(self) -> WorkspaceCapacity:
        """The size limit of new workspaces, and how it is enforced. The value may change after `examine` has
        tested whether each workspace can be a separate disk.
        """

    async def watched_bytes(self, sandbox_id: UUID) -> int | None:
        """Measures the workspace of a running sandbox and returns its size in bytes. The app server calls
        this method if it enforces the size limit of workspaces itself. May take seconds.

        Returns None if the workspace has no size limit or is a separate disk, or if the measurement fails or
        takes too long.
        """

    async def delete(self, sandbox_id: UUID) -> None:
        """Removes the sandbox's container or process, and its workspace. Does nothing if there are none."""

    async def abandon(self, sandbox_id: UUID, /) -> None:
        """Removes the assignment of the sandbox to its sandbox host (another machine that runs sandboxes),
        because the host cannot be reached. After that, `restore` can create the sandbox on another host.

        The data on the unreachable host stays there.
        """

    async def forget(self, sandbox_id: UUID, /) -> None:
        """Removes the data of a deleted sandbox from sandbox hosts on which it ran earlier. `delete` removes
        the data only from the current host. Other hosts can still have data if `abandon` was called when they
        could not be reached. Call this method after `delete`.
        """

    def host_name(self, sandbox_id: UUID, /) -> str | None:
        """Returns the name of the sandbox host (another machine) to which the sandbox is assigned. Returns
        None if the sandbox is assigned to no host, or if the backend uses only this machine.
        """

    @property
    def spare_bytes(self) -> int:
        """Returns the memory in bytes of the containers that this app server has started in advance for new
        sandboxes.
        """

    async def spare_bytes_of_others(self) -> int:
        """Returns the memory in bytes of the containers that other app servers on the same database have
        started in advance for new sandboxes.
        """

    @property
    def lacks_spare(self) -> bool:
        """Returns whether this app server has started fewer containers in advance for new sandboxes than
        configured. If so, `replenish` starts another one.
        """

    async def capacities(self) -> Sequence[int] | None:
        """Returns the memory capacity in bytes of each machine that runs sandboxes: the maximum for the sum
        of the memory limits of the machine's sandboxes.

        Returns None if the memory is not limited, or if no sandbox host answers.
        """

    async def memory_capacity(self, sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        """Returns the memory capacity of the machine on which this sandbox would start. held: the ids of all
        sandboxes that use memory.
        """

    async def replenish(self) -> None:
        """Starts one more container in advance for new sandboxes, if there are fewer than configured. Takes
        seconds.
        """

    async def yield_spare(self) -> bool:
        """Removes one container that was started in advance for a new sandbox, to free its memory. If this
        app server has none, removes a container of another app server on the same database.

        Returns False if there is no such container.
        """

    async def close(self) -> None:
        """Releases the backend's resources when the app server ends. Ends the sandboxes that cannot run
        without the app server, such as those that run as processes on this machine.
        """


class OneMachine:
    """The base class of backends whose sandboxes are all on one machine. Contains the methods that are the
    same in all these backends.
    """

    async def keep_secure(self) -> None:
        return

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

    async def memory_capacity(self, _sandbox_id: UUID, held: Collection[UUID], /) -> MemoryCapacity:
        capacities = await self.capacities()
        return MemoryCapacity(held, sum(capacities) if capacities else None)


def workspace_missing() -> StartFailure:
    return StartFailure(
        "workspace_missing",
        "The workspace of the sandbox is missing: another program has removed it.",
        fix="Start a new conversation.",
    )
