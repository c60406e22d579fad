"""What a browser needs to know before anybody is signed in."""

from typing import Literal
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from app_server import demo
from app_server.config import Config
from app_server.gateway.places import origin_of_port
from app_server.version import VERSION

router = APIRouter(prefix="/api/v1/web-client", tags=["Web client"])


class WorkspaceLimit(BaseModel):
    """How much a new workspace can hold: `bytes`, null for as much as there is.

    `kept_by`: a disk of that size; a watch, which stops a sandbox that holds more; or nothing.
    """

    model_config = ConfigDict(from_attributes=True)

    bytes: int | None
    kept_by: Literal["disk", "watch", "none"]


class SandboxInfo(BaseModel):
    """`isolation`: what of the server's machine is out of reach: all, its files and network, or nothing.

    `is_isolated`: whether it is all. `warning` says what an agent could reach otherwise.
    """

    model_config = ConfigDict(from_attributes=True)

    backend: Literal["docker", "process", "remote"]
    isolation: Literal["full", "files", "none"]
    is_isolated: bool
    warning: str | None


class DemoInfo(BaseModel):
    """A conversation that works without any key: its model profile, its repository, its task."""

    profile: str
    repository: str
    task: str


class WebClientConfig(BaseModel):
    """`ports_have_names`: pages of a sandbox's ports are opened at host names of their own; else below a path
    of this server, where they have no storage. It depends on the address that the browser has used.
    """

    version: str
    ports_have_names: bool
    sandbox: SandboxInfo
    workspace_limit: WorkspaceLimit
    demo: DemoInfo


@router.get("/config")
async def get_web_client_config(request: Request) -> WebClientConfig:
    config: Config = request.state.config
    return WebClientConfig(
        version=VERSION,
        ports_have_names=origin_of_port(config, UUID(int=0), 1, request.headers.get("host", "")) is not None,
        sandbox=SandboxInfo.model_validate(request.state.sandboxes.describe()),
        workspace_limit=WorkspaceLimit.model_validate(request.state.sandboxes.workspace_limit()),
        demo=DemoInfo(
            profile=demo.PROFILE, repository=str(demo.repository_path(config.home)), task=demo.TASK
        ),
    )
