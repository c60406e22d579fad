"""Sandbox specs in the API: the shape of the OpenHands app server, and how a user makes their own."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app_server.core.config import IMAGE_NAME
from app_server.core.database import Timestamp
from app_server.core.pagination import Page
from app_server.sandboxes.runtime_plugins import RuntimePluginName

MAX_DOCKERFILE_CHARACTERS = 65_536

SpecName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
ImageName = Annotated[str, Field(max_length=250, pattern=IMAGE_NAME)]
SpecId = Annotated[str, Field(min_length=1, max_length=100)]
"""Of one of the user's own; `default`: as the server is configured."""


class SandboxSpecInfo(BaseModel):
    """What sandboxes can start from. `base`: what the image is built on.

    `origin`: the repository and path whose files it is built from. `ignored`: what of its devcontainer.json
    is not used, each with why. `runtime_plugins`: what its sandboxes offer; null: all that the image has.
    """

    id: str
    name: str
    base: str | None
    origin: str | None = None
    dockerfile: str | None = None
    ignored: list[str] = []
    runtime_plugins: list[RuntimePluginName] | None = None
    command: list[str] | None = None
    initial_env: dict[str, str] = {}
    working_dir: str
    created_at: Timestamp


SandboxSpecPage = Page[SandboxSpecInfo]


class FromRepository(BaseModel):
    """`path`: a devcontainer.json or a Dockerfile; left out, the first of the usual places."""

    model_config = ConfigDict(str_strip_whitespace=True)

    selected_repository: Annotated[str, Field(min_length=1, max_length=2000)]
    selected_branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    path: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")] | None = None


class RepositoryBase(BaseModel):
    """What a repository would have built: `base` names all of it, and allows just that.

    `dockerfile`: the text of it; null where it names an image. `files`, `bytes`: of the build context.
    """

    base: str
    repository: str
    path: str
    dockerfile: str | None
    files: int
    bytes: int
    ignored: list[str]


class CreateSandboxSpec(BaseModel):
    """Of an image, of a Dockerfile that copies nothing, or of a repository whose `base` the user has seen.

    `runtime_plugins`: those that its sandboxes offer, of those that the image has; null for all.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    name: SpecName
    image: ImageName | None = None
    dockerfile: Annotated[str, Field(min_length=1, max_length=MAX_DOCKERFILE_CHARACTERS)] | None = None
    repository: FromRepository | None = None
    base: ImageName | None = None
    runtime_plugins: Annotated[list[RuntimePluginName], Field(max_length=20)] | None = None

    @model_validator(mode="after")
    def _has_one_origin(self) -> "CreateSandboxSpec":
        if sum(each is not None for each in (self.image, self.dockerfile, self.repository)) != 1:
            raise ValueError("name an image, a dockerfile or a repository: one of them")
        if (self.repository is None) != (self.base is None):
            raise ValueError("base belongs to a repository: it is what looking at it showed")
        return self


class RepositorySpec(BaseModel):
    repository: str
    sandbox_spec_id: str


class SandboxSpecSettings(BaseModel):
    """What new sandboxes start from: of all repositories, and of those that have it otherwise.

    `may_choose`: whether the user may; `reason` says why not.
    """

    sandbox_spec_id: str
    repositories: list[RepositorySpec]
    may_choose: bool
    reason: str | None


class ChooseSandboxSpec(BaseModel):
    """`repository`: null for all that have none of their own. `sandbox_spec_id`: null to undo a choice."""

    model_config = ConfigDict(str_strip_whitespace=True)

    repository: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    sandbox_spec_id: SpecId | None
