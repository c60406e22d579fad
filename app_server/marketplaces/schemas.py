"""Schemas of the requests and replies of the routes for marketplaces."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from app_server.skills.catalogue import ListedSkill

MAX_MARKETPLACES = 20


class MarketplaceScope(StrEnum):
    """Who a marketplace is for: `personal`: one user. `instance`: everyone here."""

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
    """A registered marketplace.

    source: `github:OWNER/REPO`, or the http or https URL of a repository that anyone may read. ref: a branch,
    tag or commit; None means the default branch. repo_path: the directory of the marketplace in the
    repository. auto_load: whether new conversations get all its plugins and skills.
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
    """A marketplace in requests and replies. The server sets `scope`; a `scope` in a request is ignored."""

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
    """A plugin that a marketplace lists. `source`: the repository and the path of the plugin in it."""

    name: str
    description: str | None = None
    source: str
    marketplace: str


class MarketplaceSkillsPreviewResponse(BaseModel):
    """The plugins and skills of marketplaces.

    marketplace_skills: the names of the skills, by marketplace. errors: sentences about marketplaces, plugins
    and skills that cannot be used.
    """

    skills: list[ListedSkill]
    plugins: list[MarketplacePluginPreview]
    marketplace_skills: dict[str, list[str]]
    errors: list[str]


class SharedMarketplaces(BaseModel):
    """The marketplaces that are shared with all users of this installation."""

    model_config = ConfigDict(extra="forbid")

    marketplaces: Registrations
