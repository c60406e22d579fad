"""Schemas of the requests and replies about the catalogue of skills and installed skills."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app_server.core.database import Id, Timestamp
from app_server.git.address import parse_identity
from app_server.marketplaces.schemas import InnerPath, MarketplaceName, MarketplaceScope, Ref, Source
from app_server.skills.models import MAX_REPOSITORY_CHARACTERS, InstalledSkill

SkillName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


def _bounded(repository: str) -> str:
    identity = parse_identity(repository)
    if len(identity) > MAX_REPOSITORY_CHARACTERS:
        raise ValueError(f"a repository has at most {MAX_REPOSITORY_CHARACTERS} characters")
    return identity


RepositoryName = Annotated[
    str, Field(min_length=1, max_length=2000, examples=["acme/api"]), AfterValidator(_bounded)
]
"""A repository by its URL, `owner/name`, `host/owner/name`, or a path on this machine."""


class CatalogueSkill(BaseModel):
    """A skill that can be installed.

    marketplace: the registered repository that has it; None for a public skill of the product. is_installed:
    for the current user. is_installed_for_everyone: for everyone here. has_update: whether an installed one
    has another text than its source.
    """

    name: str
    description: str
    marketplace: str | None
    scope: MarketplaceScope | None
    path: str
    is_installed: bool
    is_installed_for_everyone: bool
    has_update: bool


class SkillRepositoryInfo(BaseModel):
    """What a registered repository offered when it was read last.

    read_at: None if it has not been read since it was registered or changed. problems: sentences about skills
    that are refused, or about the repository.
    """

    marketplace: str
    scope: MarketplaceScope
    commit: str | None = None
    read_at: Timestamp | None = None
    skill_count: int = 0
    problems: list[str] = []


class InstallSkill(BaseModel):
    """A skill to install: of a registered repository (`marketplace`), of any repository that anyone may read
    (`source` with `ref` and `repo_path`), or, without both, a public skill of the product.

    is_for_everyone: whether everyone here gets it; only administrators may install such skills.
    """

    model_config = ConfigDict(extra="forbid")

    name: SkillName
    marketplace: MarketplaceName | None = None
    source: Source | None = None
    ref: Ref | None = None
    repo_path: InnerPath | None = None
    is_for_everyone: bool = False

    @model_validator(mode="after")
    def _one_place(self) -> "InstallSkill":
        if self.marketplace is not None and self.source is not None:
            raise ValueError("name a marketplace or a source, not both")
        if self.source is None and (self.ref is not None or self.repo_path is not None):
            raise ValueError("ref and repo_path need a source")
        return self


class InstalledSkillInfo(BaseModel):
    """An installed skill. It keeps its version until it is updated.

    source: the address of its repository; None for a public skill of the product. commit: the commit that it
    was read from. other_files: the number of further files in its directory; agents do not get them.
    has_update: whether its source had another text at checked_at; the server looks once a day, and updates
    nothing. check_problem: why the last look failed.
    """

    id: Id
    name: str
    description: str
    marketplace: str | None
    source: str | None
    ref: str | None
    path: str
    commit: str | None
    other_files: int
    is_for_everyone: bool
    installed_at: Timestamp
    updated_at: Timestamp
    has_update: bool
    checked_at: Timestamp | None
    check_problem: str | None


class InstalledSkillWithText(InstalledSkillInfo):
    """text: the whole SKILL.md that agents get."""

    text: str


class UpdatedSkill(InstalledSkillInfo):
    """is_changed: whether the text differs from the one before."""

    is_changed: bool


class SkillChoiceInfo(BaseModel):
    """Whether the user's conversations load the skill of this name. repository: None means everywhere."""

    name: str
    repository: str | None
    is_enabled: bool


class ChooseSkill(BaseModel):
    """A choice about a skill. is_enabled: null removes the choice. repository: null means everywhere; a
    choice for a repository counts more.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    repository: RepositoryName | None = None
    is_enabled: bool | None


def installed_info(row: InstalledSkill) -> InstalledSkillInfo:
    return InstalledSkillInfo(**fields_of(row))


def fields_of(row: InstalledSkill) -> dict[str, object]:
    """Returns the fields of an InstalledSkillInfo for an installed skill."""
    return {
        "id": row.id,
        "name": row.name,
        "description": row.description,
        "marketplace": row.marketplace,
        "source": row.source,
        "ref": row.ref,
        "path": row.path,
        "commit": row.commit_id,
        "other_files": row.other_files,
        "is_for_everyone": row.user_id is None,
        "installed_at": row.installed_at,
        "updated_at": row.updated_at,
        "has_update": row.has_update,
        "checked_at": row.checked_at,
        "check_problem": row.check_problem,
    }
