"""The request and response models of the routes for marketplaces. A marketplace is a git repository that
lists plugins and skills.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from app_server.skills.catalogue import ListedSkill

MAX_MARKETPLACES = 20


class MarketplaceScope(StrEnum):
    """The group of users who can use a marketplace, which is a git repository that lists plugins and skills.
    `personal`: only the user who has registered the marketplace. `instance`: all users of this installation.
    """

    INSTANCE = "instance"
    PERSONAL = "personal"


def _inner_path(path: str) -> str:
    if path.startswith(("/", "-")) or ".." in path.split("/") or not path.isprintable():
        raise ValueError("the path must lead to a directory inside the repository")
    return path.strip("/")


MarketplaceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Source = Annotated[
    str, StringConstraints(pattern=r"^(github:[\w.-]+/[\w.-]+|https?://[^@\s]+)$", max_length=2000)
]
Ref = Annotated[str, StringConstraints(pattern=r"^[^-\s:][^\s:]*$", max_length=256)]
InnerPath = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_inner_path)]


class Marketplace(BaseModel):
    """A registered marketplace: a git repository that lists plugins and skills.

    source: the repository, as `github:OWNER/REPO` or as an http or https URL. The repository must be readable
    without credentials. ref: a branch, tag or commit; None means the default branch. repo_path: the directory
    of the marketplace in the repository; None means the top directory. auto_load: whether new conversations
    get all plugins and skills of the marketplace.
    """

    model_config = ConfigDict(extra="forbid")

    name: MarketplaceName
    source: Source
    ref: Ref | None = None
    repo_path: InnerPath | None = None
    auto_load: bool = False

    @property
    def url(self) -> str:
        """The URL of the repository from which git fetches the marketplace."""
        if self.source.startswith("github:"):
            return f"https://github.com/{self.source.removeprefix('github:').removesuffix('.git')}.git"
        return self.source


class MarketplaceRegistration(Marketplace):
    """A marketplace in a request or a reply, with the group of users who can use it (`scope`). The server
    sets `scope` in replies and ignores it in requests.
    """

    scope: MarketplaceScope | None = None

    def without_scope(self) -> Marketplace:
        return Marketplace.model_validate(self.model_dump(exclude={"scope"}))


def _unique(items: list[MarketplaceRegistration]) -> list[MarketplaceRegistration]:
    names = [item.name for item in items]
    if len(set(names)) < len(names):
        raise ValueError("each marketplace needs a name that no other has")
    return items


Registrations = Annotated[
    list[MarketplaceRegistration], Field(max_length=MAX_MARKETPLACES), AfterValidator(_unique)
]


class MarketplacePluginPreview(BaseModel):
    """A plugin that a marketplace lists, as shown in the preview of the marketplace. `source`: the repository
    of the plugin, followed by the plugin's directory in this repository. `marketplace`: the name of the
    marketplace.
    """

    name: str
    description: str | None = None
    source: str
    marketplace: str


class MarketplaceSkillsPreviewResponse(BaseModel):
    """The reply with all plugins and skills that the previewed marketplaces list.

    marketplace_skills: for each marketplace, the names of its skills. errors: for each marketplace, plugin or
    skill that cannot be used, a sentence that says why.
    """

    skills: list[ListedSkill]
    plugins: list[MarketplacePluginPreview]
    marketplace_skills: dict[str, list[str]]
    errors: list[str]


class SharedMarketplaces(BaseModel):
    """The list of marketplaces that an administrator has registered for all users, in a request
    or a reply.
    """

    model_config = ConfigDict(extra="forbid")

    marketplaces: Registrations
