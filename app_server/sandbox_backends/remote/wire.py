"""What an app server and a sandbox host say to each other (docs/sandbox-service.md): shapes and names."""

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app_server.core.config import IMAGE_NAME
from app_server.sandbox_backends.backend import MachineState
from app_server.sandbox_images.build_context import MAX_TAR_BYTES

PREFIX: Final = "/v1"
TOKEN_HEADER: Final = "X-Slipway-Host-Token"  # noqa: S105 (a name)
INSTALLATION_HEADER: Final = "X-Slipway-Installation"
"""Which app server asks: a host works for one alone."""
PROTOCOL: Final = 1
NDJSON: Final = "application/x-ndjson"
TAR: Final = "application/x-tar"
PIECE_BYTES: Final = 64 * 1024
MAX_BASE_BYTES: Final = MAX_TAR_BYTES + 4 * 1024**2
"""Of a request that brings what a base image is built from."""

ImageName = Annotated[str, Field(max_length=300, pattern=IMAGE_NAME)]


class HostInfo(BaseModel):
    """capacity_bytes: what the limits of all sandboxes there may add up to, less what is kept for machines
    that have no user yet. sandbox_memory_bytes: the limit of each. image: None when it is not there yet.
    isolation_gap: what the walls there leave open, in a sentence. workspace_bytes: how much a new workspace
    holds, None: as much as there is; workspace_kept_by: what keeps it so.
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
    """`stopped`: only its workspace is there, or its machine has ended."""

    id: UUID
    state: MachineState


class WorkspaceSize(BaseModel):
    """bytes: what a running sandbox's workspace holds; None when a disk limits it, or it cannot be told."""

    bytes: int | None


class HostedImage(BaseModel):
    """As a StoredImage."""

    name: str
    created_at: str
    bytes: int
    is_current: bool
    is_used: bool


class BaseInfo(BaseModel):
    """image: what sandboxes start from on this base; None when it is still to be built."""

    image: str | None


class BaseRequest(BaseModel):
    """A base image that a user has chosen. dockerfile: where it is built, its name among the files.

    timeout_seconds, max_bytes, network: what the build may take; the host holds it to its own limits as well.
    """

    name: ImageName
    dockerfile: str | None = Field(default=None, max_length=4096)
    arguments: dict[Annotated[str, Field(pattern=r"^[^\x00=]+$", max_length=255)], str] = {}
    target: str | None = Field(default=None, max_length=255)
    timeout_seconds: float = Field(gt=0)
    max_bytes: int | None = Field(default=None, gt=0)
    network: Literal["default", "none"]


class SandboxStartRequest(BaseModel):
    """authority: whose certificates the sandbox is to believe (PEM), if the app server has one.

    base: what its image is built on, if its user has chosen that: `PUT /bases` comes first.
    """

    session_key: str
    base: ImageName | None = None
    authority: str | None = Field(default=None, max_length=20_000)


class HostedMachine(BaseModel):
    """image: what it was started from. inner_url: the app server as the sandbox reaches it."""

    image: str
    working_root: str
    inner_url: str


class HostFailure(BaseModel):
    """As a StartFailure; code: of docs/start-failures.md."""

    code: str
    cause: str
    fix: str
    output: str = ""


class Step(BaseModel):
    """One line of the answer to what takes a while. The last one has `done`, `machine` or `failure`.

    An empty one says that it goes on.
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
