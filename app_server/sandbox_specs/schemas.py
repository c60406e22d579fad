"""The request and reply bodies of the routes for sandbox specs. A sandbox spec says from which image a
sandbox starts and which plugins it offers. SandboxSpecInfo has the same form as in the OpenHands app server,
so that clients of OpenHands can use it. The other bodies exist only in Slipway.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app_server.core.config import IMAGE_NAME
from app_server.core.database import Timestamp
from app_server.core.pagination import Page
from app_server.http.strict_body import StrictBody
from app_server.levels.models import Level
from app_server.sandboxes.runtime_plugins import RuntimePluginName

MAX_DOCKERFILE_CHARACTERS = 65_536

SpecName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
ImageName = Annotated[str, Field(max_length=250, pattern=IMAGE_NAME)]
SpecId = Annotated[str, Field(min_length=1, max_length=100)]
"""The id of a sandbox spec (image and plugins of sandboxes), or `default` for the spec in the server's
configuration.
"""


class SandboxSpecInfo(BaseModel):
    """A sandbox spec: the image and the settings from which a sandbox starts.

    `base`: the base image on which the sandbox image is built. It is null only for the spec in the server's
    configuration, and only if sandboxes run as processes or on other hosts. `origin`: the repository and the
    path from which the build files come; null if they do not come from a repository. `dockerfile`: the text
    of the Dockerfile; null if the image is given by name. `ignored`: the parts of the devcontainer.json that
    Slipway ignores, each with a reason. `runtime_plugins`: the runtime plugins (programs such as VS Code)
    that sandboxes with this spec offer; null means all plugins of the image. `level`: whether the spec
    belongs to the organisation, a team or the user; null for the spec in the server's configuration.
    `team_name`: the name of the team that the spec belongs to; null if it belongs to no team.
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


class FromRepository(StrictBody):
    """A repository from which a base image is built. `selected_branch`: null means the default branch.
    `path`: the path of a devcontainer.json or Dockerfile in the repository; null means the first of the usual
    paths that exists.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    selected_repository: Annotated[str, Field(min_length=1, max_length=2000)]
    selected_branch: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    path: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]+$")] | None = None


class RepositoryBase(BaseModel):
    """A preview of the base image that a repository describes. The user sees the preview before saving a
    sandbox spec that is made from the repository.

    `base`: the name of the image. If the image is built, its name contains a hash of all its files. A client
    sends this name back in CreateSandboxSpec, so that the saved spec contains exactly the files that the user
    has seen. `path`: the path of the devcontainer.json or Dockerfile. `dockerfile`: the text of the
    Dockerfile; null if the repository gives only the name of an existing image. `files`, `bytes`: the number
    and the total size of all files in the build context except the Dockerfile. `ignored`: the parts of the
    devcontainer.json that Slipway ignores, each with a reason.
    """

    base: str
    repository: str
    path: str
    dockerfile: str | None
    files: int
    bytes: int
    ignored: list[str]


class CreateSandboxSpec(StrictBody):
    """A request to save a new sandbox spec of the user. Exactly one of `image`, `dockerfile` and `repository`
    must be given.

    `image`: the name of an image. `dockerfile`: the text of a Dockerfile that copies no files. `repository`:
    a repository that contains the build files. `base`: the image name from the preview of the repository
    (RepositoryBase); required if `repository` is given. `runtime_plugins`: the runtime plugins (programs such
    as VS Code) of the image that sandboxes with this spec offer; null means all.
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
    """A request to save a sandbox spec of the organisation or a team. Exactly one of `image` and `dockerfile`
    must be given.

    `image`: the name of an image. `dockerfile`: the text of a Dockerfile that copies no files.
    `runtime_plugins`: the runtime plugins (programs such as VS Code) of the image that sandboxes with this
    spec offer; null means all. `is_default`: if true, new sandboxes of a member start from this spec, unless
    the member has chosen another spec. `enforced`: if true, and a member has a personal spec with the same
    name, this spec is used in its place. If `is_default` and `enforced` are both true, members cannot choose:
    all their new sandboxes start from this spec.
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
    """The content of a sandbox spec (the image and settings for new sandboxes) that an organisation or a team
    shares with its members. Replies that list shared items contain it in the field `sandbox_spec`. In these
    replies, this field is null for secrets, MCP servers and network rules.

    `base`: the name of the base image. `dockerfile`: the text of the Dockerfile; null if the spec names an
    image. `runtime_plugins`: the runtime plugins (programs such as VS Code) that are available in the
    sandboxes; null means all plugins of the image. `is_default`: whether a member's sandboxes use this spec
    if the member has chosen no other spec.
    """

    base: str
    dockerfile: str | None
    runtime_plugins: list[RuntimePluginName] | None
    is_default: bool


class RepositorySpec(BaseModel):
    repository: str
    sandbox_spec_id: str


class SandboxSpecSettings(BaseModel):
    """The user's settings for the sandbox spec (image and plugins) of new sandboxes: one spec for all
    repositories, and other specs for single repositories.

    `sandbox_spec_id`: the spec for all repositories without a separate choice. `repositories`: the
    repositories with a separate choice. `may_choose`: whether the user may choose any image; if false, the
    user can at most choose specs of the organisation and of teams. `reason`: why `may_choose` is false; null
    if it is true. `enforced_by`: `organisation` or `team` if the organisation or a team enforces the spec of
    all new sandboxes, so that the user cannot choose; otherwise null. `team_name`: the name of that team;
    null if no team enforces a spec.
    """

    sandbox_spec_id: str
    repositories: list[RepositorySpec]
    may_choose: bool
    reason: str | None
    enforced_by: Level | None
    team_name: str | None


class ChooseSandboxSpec(StrictBody):
    """A request to set the sandbox spec (image and plugins) from which the user's new sandboxes start.

    `repository`: the repository that the choice is for; null means all repositories without a separate
    choice. `sandbox_spec_id`: the chosen spec. Null deletes the choice that is stored for `repository`. The
    value `default` chooses the spec in the server's configuration, even if the organisation or a team has
    another default.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    repository: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    git_provider: Annotated[str, Field(max_length=50)] | None = None
    sandbox_spec_id: SpecId | None
