"""The request and reply bodies that an app server and a sandbox host (a machine that runs sandboxes for the
app server) exchange. See docs/sandbox-service.md.
"""

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app_server.core.config import IMAGE_NAME
from app_server.sandbox_backends.backend import MachineState
from app_server.sandbox_images.build_context import MAX_TAR_BYTES

PREFIX: Final = "/v1"
TOKEN_HEADER: Final = "X-Slipway-Host-Token"  # noqa: S105 (a name)
INSTALLATION_HEADER: Final = "X-Slipway-Installation"
"""A request header with the id of the calling Slipway installation. A sandbox host accepts the requests of
only one installation.
"""
PROTOCOL: Final = 1
NDJSON: Final = "application/x-ndjson"
TAR: Final = "application/x-tar"
PIECE_BYTES: Final = 64 * 1024
MAX_BASE_BYTES: Final = MAX_TAR_BYTES + 4 * 1024**2
"""The size limit, in bytes, of a request with the files from which a base image is built."""

ImageName = Annotated[str, Field(max_length=300, pattern=IMAGE_NAME)]


class HostInfo(BaseModel):
    """The reply of GET /v1/info: a sandbox host's description of itself.

    capacity_bytes: the maximum for the sum of the memory limits of the host's sandboxes. The memory of
    containers that are started in advance for new sandboxes is already subtracted.
    sandbox_memory_bytes: the memory limit of each sandbox.
    image: the name of the default sandbox image; null if the host does not have it yet.
    isolation_gap: a sentence about gaps in the isolation of sandboxes; null if none is known.
    workspace_bytes: the size limit of a new workspace; null means no limit.
    workspace_kept_by: how that size limit is enforced: "disk" means that each workspace is a separate disk of
    this size, "watch" that workspaces are measured, "none" that there is no limit.
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
    """One sandbox of a sandbox host, and the state of its container. `running`: the container runs. `halted`:
    the container is paused. `stopped`: no container runs, and only the workspace is left.
    """

    id: UUID
    state: MachineState


class WorkspaceSize(BaseModel):
    """The size of a running sandbox's workspace.

    bytes: the size; null if it cannot be measured, or if the workspace is a separate disk of limited size.
    """

    bytes: int | None


class HostedImage(BaseModel):
    """One sandbox image on a sandbox host. `is_current`: whether this version of Slipway needs the image.
    `is_used`: whether the host has a container of this image. `bytes`: the size, including layers that are
    shared with other images.
    """

    name: str
    created_at: str
    bytes: int
    is_current: bool
    is_used: bool


class BaseInfo(BaseModel):
    """The reply of GET /v1/bases: tells whether the host has a sandbox image that is built on a given base
    image.

    image: the name of that sandbox image; null if it must still be built.
    """

    image: str | None


class BaseRequest(BaseModel):
    """The description of a base image that a user has chosen, in the request body of PUT /v1/bases.

    dockerfile: the name of the Dockerfile among the sent files; null if the base image is not built from
    files. arguments, target: the build arguments and the build stage for the Dockerfile. timeout_seconds: the
    maximum duration of the build. max_bytes: the maximum size of the built image; null means no limit.
    network: "none" means that commands of the build have no network. The host's configuration has the same
    three limits; for each of them, the stricter one applies.
    """

    name: ImageName
    dockerfile: str | None = Field(default=None, max_length=4096)
    arguments: dict[Annotated[str, Field(pattern=r"^[^\x00=]+$", max_length=255)], str] = {}
    target: str | None = Field(default=None, max_length=255)
    timeout_seconds: float = Field(gt=0)
    max_bytes: int | None = Field(default=None, gt=0)
    network: Literal["default", "none"]


class SandboxStartRequest(BaseModel):
    """The request body of PUT /v1/sandboxes/ID, which starts a sandbox.

    authority: a certificate authority (PEM) that the sandbox must trust; null if the app server has none.
    base: the name of the base image that the user has chosen; null means the default. Send `PUT /v1/bases`
    for this base image first.
    """

    session_key: str
    base: ImageName | None = None
    authority: str | None = Field(default=None, max_length=20_000)


class HostedMachine(BaseModel):
    """A started sandbox, as the sandbox host describes it to the app server.

    image: the name of the sandbox's image.
    working_root: the directory in the sandbox that contains the files on which agents work.
    inner_url: the URL at which the sandbox reaches the app server.
    """

    image: str
    working_root: str
    inner_url: str


class HostFailure(BaseModel):
    """A failure on the sandbox host. `code`: identifies the kind of failure; docs/start-failures.md lists the
    codes. `cause`: what has happened. `fix`: what the user or an administrator can do. `output`: the last
    output of the command that failed; empty if there is none.
    """

    code: str
    cause: str
    fix: str
    output: str = ""


class Step(BaseModel):
    """One line of the streamed reply in which a sandbox host reports the progress of an operation.

    `report`: a line of text about the progress. The last line of the reply has one of the other fields.
    `machine`: the started sandbox, if the operation is the start of a sandbox. `done`: true if any other
    operation has succeeded. `failure`: why the operation has failed. A line without any field only shows that
    the operation still runs.
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
