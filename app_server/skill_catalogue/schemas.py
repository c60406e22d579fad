"""The request and response models of the routes for the skill catalogue, installed skills, and choices to
switch skills on or off.
"""

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
"""A text that identifies a repository: a URL, `owner/name`, `host/owner/name`, or the path of a repository on
the app server's machine.
"""


class CatalogueSkill(BaseModel):
    """A skill in the catalogue, which lists all skills that the user can install.

    marketplace: the name of the registered marketplace that contains the skill; None for a skill that is part
    of Slipway. scope: the group of users who can use this marketplace; None if `marketplace` is None. path:
    the path of the skill's SKILL.md. is_installed: whether the skill is installed for the current user.
    is_installed_for_everyone: whether it is installed for all users of this installation. has_update: whether
    the skill is installed, and the text at its source differed from the installed text when the server
    compared the two texts last.
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
    """A registered marketplace, which is a git repository with skills, and the result of reading its skills
    the last time.

    marketplace: the name of the marketplace. scope: the group of users who can use the marketplace. commit:
    the commit that was read. read_at: the time of reading; None if the marketplace has not been read since it
    was registered or changed. skill_count: the number of usable skills. problems: sentences about skills that
    cannot be used, or about the repository if it could not be read.
    """

    marketplace: str
    scope: MarketplaceScope
    commit: str | None = None
    read_at: Timestamp | None = None
    skill_count: int = 0
    problems: list[str] = []


class InstallSkill(BaseModel):
    """A request to install the skill with this name. The skill comes from one of three sources.

    Set `marketplace` for a skill in a registered marketplace. Set `source`, and optionally `ref` and
    `repo_path`, for a skill in another repository that is readable without credentials. Set neither
    `marketplace` nor `source` for a skill that is part of Slipway.

    is_for_everyone: whether to install the skill for all users of this installation. Only administrators of
    the installation may do this.
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
    """An installed skill, without its text. The text of an installed skill stays the same until a user
    updates the skill.

    marketplace: the name of the registered marketplace that the skill comes from; None if it comes from
    another repository or is part of Slipway. source: the repository that the skill comes from; None for a
    skill that is part of Slipway. commit: the commit at which the skill was read. other_files: the number of
    files in the skill's directory in addition to SKILL.md; agents do not get them. is_for_everyone: whether
    the skill is installed for all users of this installation.

    Once a day, the server compares the skill with its source. It does not update the skill. checked_at: the
    time of the last comparison. has_update: whether the text at the source differed from the installed text
    at that time. check_problem: the reason why the last comparison failed; None if it succeeded.
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
    """An installed skill with its text. text: the content of the skill's SKILL.md, which agents get."""

    text: str


class UpdatedSkill(InstalledSkillInfo):
    """An installed skill after an update, as returned by the route that updates it. is_changed: whether the
    update has changed the skill's text.
    """

    is_changed: bool


class SkillChoiceInfo(BaseModel):
    """A user's choice to switch a skill on or off for new conversations.

    name: the name of the skill. repository: the repository to which the choice applies; None means all
    conversations. is_enabled: True if the skill is switched on, False if it is switched off.
    """

    name: str
    repository: str | None
    is_enabled: bool


class ChooseSkill(BaseModel):
    """A request to switch a skill on or off for the user's new conversations, or to delete an earlier choice.

    is_enabled: true switches the skill on, false switches it off, null deletes the choice. repository: the
    repository to which the choice applies; null means all conversations. A choice for one repository
    overrides the choice for all conversations.
    """

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    repository: RepositoryName | None = None
    is_enabled: bool | None


def installed_info(row: InstalledSkill) -> InstalledSkillInfo:
    return InstalledSkillInfo(**fields_of(row))


def fields_of(row: InstalledSkill) -> dict[str, object]:
    """Returns the values of all fields of InstalledSkillInfo for an installed skill, by field name. The
    values are used to create an InstalledSkillInfo, an InstalledSkillWithText or an UpdatedSkill.
    """
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
