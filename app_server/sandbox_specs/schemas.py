"""The API's models of sandbox specs: the models of the OpenHands app server, and models for making specs."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app_server.core.config import IMAGE_NAME
from app_server.core.database import Timestamp
from app_server.core.pagination import Page
from app_server.levels.models import Level
from app_server.sandboxes.runtime_plugins import RuntimePluginName

MAX_DOCKERFILE_CHARACTERS = 65_536

SpecName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
ImageName = Annotated[str, Field(max_length=250, pattern=IMAGE_NAME)]
SpecId = Annotated[str, Field(min_length=1, max_length=100)]
"""The id of one of the user's specs, or `default` for the server's configuration."""


class SandboxSpecInfo(BaseModel):
    """A spec: what sandboxes can start from. `base`: the image that the sandbox image is built on.

    `origin`: the repository and path of the files that it is built from. `ignored`: the parts of the
    devcontainer.json that are not used, each with a reason. `runtime_plugins`: the plugins that its sandboxes
    offer; null means all plugins of the image. `level`: whose spec it is; null for the server's own.
    `team_name`: of a team's spec.
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
    level: Level | None = None
    team_name: str | None = None


SandboxSpecPage = Page[SandboxSpecInfo]


class FromRepository(BaseModel):
    """A repository to build from. `path`: a devcontainer.json or a Dockerfile. If it is left out, the first
    file at one of the usual places.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    selected_repository: Annotated[str, Field(min_length=1, max_length=2000)]
    selected_branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    path: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")] | None = None


class RepositoryBase(BaseModel):
    """What would be built from a repository. `base`: the name of the image; if it is built, the name contains
    a hash of all its files, so a spec that is saved with this `base` can contain only them.

    `dockerfile`: its text; null if the repository names an image. `files`, `bytes`: the size of the build
    context.
    """

    base: str
    repository: str
    path: str
    dockerfile: str | None
    files: int
    bytes: int
    ignored: list[str]


class CreateSandboxSpec(BaseModel):
    """A new spec made from an image, from a Dockerfile that copies no files, or from a repository whose
    `base` the user has seen.

    `runtime_plugins`: which of the image's plugins its sandboxes offer; null means all.
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


class SaveSandboxSpecOfLevel(BaseModel):
    """A spec of the organisation or a team, made from an image or from a Dockerfile that copies no files.

    `runtime_plugins`: as in CreateSandboxSpec. `is_default`: whether new sandboxes of the members start from
    it. `enforced`: an own spec of this name does not override it; if it is also the default, all new
    sandboxes start from it.
    """

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    image: ImageName | None = None
    dockerfile: Annotated[str, Field(min_length=1, max_length=MAX_DOCKERFILE_CHARACTERS)] | None = None
    runtime_plugins: Annotated[list[RuntimePluginName], Field(max_length=20)] | None = None
    description: Annotated[str, Field(max_length=1000)] | None = None
    is_default: bool = False
    enforced: bool = False

    @model_validator(mode="after")
    def _has_one_origin(self) -> "SaveSandboxSpecOfLevel":
        if (self.image is None) == (self.dockerfile is None):
            raise ValueError("name an image or a dockerfile: one of them")
        return self


class GivenSandboxSpec(BaseModel):
    """What a spec of the organisation or a team is made from. The fields are as in SandboxSpecInfo and
    SaveSandboxSpecOfLevel.
    """

    base: str
    dockerfile: str | None
    runtime_plugins: list[RuntimePluginName] | None
    is_default: bool


class RepositorySpec(BaseModel):
    repository: str
    sandbox_spec_id: str


class SandboxSpecSettings(BaseModel):
    """What new sandboxes start from: the spec for all repositories, and the specs for single repositories.

    `may_choose`: whether the user may choose any image; `reason` says why not. Specs of the organisation and
    of teams can be chosen without that. `enforced_by`: the level that sets the spec of all new sandboxes, so
    that the user cannot choose; null if no level does. `team_name`: of that team.
    """

    sandbox_spec_id: str
    repositories: list[RepositorySpec]
    may_choose: bool
    reason: str | None
    enforced_by: Level | None
    team_name: str | None


class ChooseSandboxSpec(BaseModel):
    """A choice of a spec. `repository`: null means all repositories without a choice. `sandbox_spec_id`: null
    removes a choice; `default` chooses the server's own spec, also if the organisation or a team has another
    default.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    repository: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    sandbox_spec_id: SpecId | None
