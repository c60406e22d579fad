"""The requests and replies between an app server and a sandbox host (docs/sandbox-service.md)."""

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app_server.core.config import IMAGE_NAME
from app_server.sandbox_backends.backend import MachineState
from app_server.sandbox_images.build_context import MAX_TAR_BYTES

PREFIX: Final = "/v1"
TOKEN_HEADER: Final = "X-Slipway-Host-Token"  # noqa: S105 (a name)
INSTALLATION_HEADER: Final = "X-Slipway-Installation"
"""A header with the id of the app server that calls. A host works for only one."""
PROTOCOL: Final = 1
NDJSON: Final = "application/x-ndjson"
TAR: Final = "application/x-tar"
PIECE_BYTES: Final = 64 * 1024
MAX_BASE_BYTES: Final = MAX_TAR_BYTES + 4 * 1024**2
"""The size limit of a request with the files from which a base image is built."""

ImageName = Annotated[str, Field(max_length=300, pattern=IMAGE_NAME)]


class HostInfo(BaseModel):
    """What a host reports about itself.

    capacity_bytes: the limit for the sum of its sandboxes' memory limits, without the memory of ready
    machines.
    sandbox_memory_bytes: the memory limit of each sandbox.
    image: the image; null if the host does not have it yet.
    isolation_gap: a sentence about gaps in the isolation; null if none is known.
    workspace_bytes: the size limit of a new workspace; null means no limit.
    workspace_kept_by: how that limit is enforced.
    """

    protocol: int
    version: str
    engine: str
    image: str | None
    capacity_bytes: int
    sandbox_memory_bytes: int
    isolation_gap: str | None
    workspace_bytes: int | None
    workspace_kept_by: Literal["disk", "watch", "none"]


class HostedSandbox(BaseModel):
    """The state of one sandbox. `stopped`: only its workspace is there, or its machine has ended."""

    id: UUID
    state: MachineState


class WorkspaceSize(BaseModel):
    """bytes: the size of a running sandbox's workspace. It is null if it cannot be measured, or if the
    workspace is a disk of a fixed size.
    """

    bytes: int | None


class HostedImage(BaseModel):
    """One image on the host. The fields are those of StoredImage."""

    name: str
    created_at: str
    bytes: int
    is_current: bool
    is_used: bool


class BaseInfo(BaseModel):
    """image: the image of sandboxes on this base; null if it must still be built."""

    image: str | None


class BaseRequest(BaseModel):
    """A base image that a user has chosen.

    dockerfile: the name of the Dockerfile among the sent files; null if nothing is built.
    timeout_seconds, max_bytes, network: limits of the build. The host's own limits apply, too.
    """

    name: ImageName
    dockerfile: str | None = Field(default=None, max_length=4096)
    arguments: dict[Annotated[str, Field(pattern=r"^[^\x00=]+$", max_length=255)], str] = {}
    target: str | None = Field(default=None, max_length=255)
    timeout_seconds: float = Field(gt=0)
    max_bytes: int | None = Field(default=None, gt=0)
    network: Literal["default", "none"]


class SandboxStartRequest(BaseModel):
    """Starts a sandbox.

    authority: a certificate authority (PEM) that the sandbox must trust; null if the app server has none.
    base: the base image that the user has chosen. `PUT /bases` must come first.
    """

    session_key: str
    base: ImageName | None = None
    authority: str | None = Field(default=None, max_length=20_000)


class HostedMachine(BaseModel):
    """A started sandbox. image: its image. inner_url: the app server's URL as the sandbox reaches it."""

    image: str
    working_root: str
    inner_url: str


class HostFailure(BaseModel):
    """A failure. The fields are those of StartFailure; docs/start-failures.md lists the codes."""

    code: str
    cause: str
    fix: str
    output: str = ""


class Step(BaseModel):
    """One line of a streamed reply. The last line has `done`, `machine` or `failure`.

    An empty line only shows that the work goes on.
    """

    report: str | None = None
    machine: HostedMachine | None = None
    failure: HostFailure | None = None
    done: bool = False

    @property
    def is_last(self) -> bool:
        return self.done or self.machine is not None or self.failure is not None


class LastWordsInfo(BaseModel):
    code: str
    cause: str
    fix: str
    output: str
