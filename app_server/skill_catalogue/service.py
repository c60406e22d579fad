"""Finds skills in the catalogue, reads them from their sources, and installs and updates them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import now
from app_server.core.errors import AppError, Conflict, NotFound
from app_server.http.guarded_client import Guard
from app_server.marketplaces.index import UnreadableMarketplace
from app_server.marketplaces.schemas import Marketplace
from app_server.skill_catalogue.repositories import (
    KnownRepository,
    Read,
    known_repositories,
    read_repository,
)
from app_server.skill_catalogue.schemas import CatalogueSkill, InstallSkill
from app_server.skills.bundled import ShippedSkill, shipped_skills
from app_server.skills.models import InstalledSkill

MAX_INSTALLED = 100


class RefusedSkill(AppError):
    """The error that is raised when a skill, or the repository that it comes from, cannot be used (HTTP
    status 422). The detail of the error says why.
    """

    status = 422
    code = "skill_refused"


@dataclass(frozen=True)
class Content:
    """The data of a skill that was read from its source, at one version.

    path: the path of its SKILL.md. text: the content of this file. commit: the commit of the repository; None
    for a skill that is part of Slipway. other_files: the number of files in the skill's directory in addition
    to SKILL.md.
    """

    description: str
    path: str
    text: str
    commit: str | None = None
    other_files: int = 0


@dataclass(frozen=True)
class SkillOrigin:
    """The source from which a skill is installed.

    marketplace: the name of the registered marketplace; None if the skill comes from another repository or is
    part of Slipway. repository: the address of the repository; None if the skill is part of Slipway.
    """

    marketplace: str | None = None
    repository: Marketplace | None = None


def catalogue(
    shipped: Iterable[ShippedSkill],
    repositories: Iterable[KnownRepository],
    installed: Iterable[InstalledSkill],
    query: str,
) -> list[CatalogueSkill]:
    """Returns the skills that can be installed and whose name or description contains all words of the query.
    Upper and lower case do not matter. The skills that are part of Slipway come first.

    shipped: the skills that are part of Slipway. repositories: the registered marketplaces. installed: the
    skills that are installed already for the user or for all users.
    """
    rows = {(row.marketplace, row.source is None, row.name, row.user_id is None): row for row in installed}

    def state(marketplace: str | None, name: str) -> dict[str, bool]:
        key = (marketplace, marketplace is None, name)
        own, everyones = rows.get((*key, False)), rows.get((*key, True))
        return {
            "is_installed": own is not None,
            "is_installed_for_everyone": everyones is not None,
            "has_update": any(row.has_update for row in (own, everyones) if row is not None),
        }

    skills = [
        CatalogueSkill(
            name=one.name,
            description=one.description,
            marketplace=None,
            scope=None,
            path=one.path,
            **state(None, one.name),
        )
        for one in shipped
    ]
    for each in repositories:
        name = each.registration.name
        skills += [
            CatalogueSkill(
                **one,
                marketplace=name,
                scope=each.registration.scope,
                **state(name, one["name"]),
            )
            for one in (each.last_read.skills if each.last_read else ())
        ]
    words = query.casefold().split()
    return [
        one for one in skills if all(word in f"{one.name} {one.description}".casefold() for word in words)
    ]


async def origin_of(session: AsyncSession, user_id: UUID, wanted: InstallSkill) -> SkillOrigin:
    """Returns the source from which a request wants to install a skill. Raises NotFound
    `marketplace_not_found` if the request names a marketplace that is not registered.
    """
    if wanted.source is not None:
        repository = Marketplace(
            name="given", source=wanted.source, ref=wanted.ref, repo_path=wanted.repo_path
        )
        return SkillOrigin(None, repository)
    if wanted.marketplace is None:
        return SkillOrigin()
    for each in await known_repositories(session, user_id):
        if each.registration.name == wanted.marketplace:
            return SkillOrigin(wanted.marketplace, each.registration.without_scope())
    raise NotFound(
        f"There is no marketplace {wanted.marketplace}.",
        code="marketplace_not_found",
        fix="Register its repository under Settings → Marketplaces.",
    )


async def read_content(origin: SkillOrigin, name: str, guard: Guard | None) -> Content:
    """Reads the skill with this name from its source and returns its content.

    guard: checks that the repository's host is not in the server's private network; None allows every host.
    Raises RefusedSkill `skill_refused` if the skill cannot be used. Raises RefusedSkill
    `skill_repository_unreadable` if the repository cannot be read. Raises NotFound `skill_not_found` if the
    source does not contain the skill.
    """
    return content_in(await version_at(origin, guard), name)


async def version_at(origin: SkillOrigin, guard: Guard | None) -> Sequence[ShippedSkill] | Read:
    """Reads a source of skills and returns the skills that the source contains now. If `origin` names a
    repository, returns a Read: the skills and the commit of the repository. If `origin` names no repository,
    returns the skills that are part of Slipway.

    guard: checks that the repository's host is not in the server's private network; None allows every host.
    Raises RefusedSkill `skill_repository_unreadable` if the repository cannot be fetched or read.
    """
    if origin.repository is None:
        return await asyncio.to_thread(shipped_skills)
    try:
        return await read_repository(origin.repository, guard)
    except UnreadableMarketplace as error:
        raise RefusedSkill(
            f"The repository cannot be used. {error}",
            code="skill_repository_unreadable",
            fix="Check its address, branch and directory.",
        ) from error


def content_in(version: Sequence[ShippedSkill] | Read, name: str) -> Content:
    """Returns the content of the skill with this name. `version`: all skills of a source, as returned by
    `version_at`.

    Raises NotFound `skill_not_found` if the source does not contain the skill. Raises RefusedSkill
    `skill_refused` if the skill cannot be used.
    """
    if not isinstance(version, Read):
        for one in version:
            if one.name == name:
                return Content(one.description, one.path, one.text)
        raise _not_found(name)
    for found in version.folders.skills:
        if found.name == name:
            return Content(found.description, found.path, found.text, version.commit, found.other_files)
    if reasons := [problem for problem in version.folders.problems if name in problem]:
        raise RefusedSkill(
            f"The skill {name} is refused. {' '.join(reasons)}",
            fix="Correct the skill in its repository, then try again.",
        )
    raise _not_found(name)


async def install(
    session: AsyncSession, user_id: UUID | None, name: str, origin: SkillOrigin, content: Content
) -> InstalledSkill:
    """Stores a skill as installed, and returns its database row. `user_id`: the user who gets the skill; None
    means that all users of this installation get the skill.

    Raises Conflict `skill_name_taken` if a skill with this name is already installed for this user (for all
    users if `user_id` is None). Raises Conflict `too_many_skills` if 100 skills are already installed for
    this user (for all users if `user_id` is None).
    """
    repository = origin.repository
    row = InstalledSkill(
        user_id=user_id,
        name=name,
        marketplace=origin.marketplace,
        source=repository.source if repository else None,
        ref=repository.ref if repository else None,
        repo_path=repository.repo_path if repository else None,
    )
    _set(row, content)
    count = select(func.count()).select_from(InstalledSkill).where(_belongs_to(user_id))
    if (await session.scalar(count) or 0) >= MAX_INSTALLED:
        raise Conflict(
            f"{MAX_INSTALLED} skills are installed, which is the limit.",
            code="too_many_skills",
            fix="Remove skills that are no longer needed.",
        )
    session.add(row)
    try:
        await session.flush()
    except IntegrityError as error:
        raise Conflict(
            f"A skill named {name} is installed already.",
            code="skill_name_taken",
            fix="Update the installed skill, or remove it first.",
        ) from error
    return row


async def installed_skill(session: AsyncSession, user_id: UUID, skill_id: UUID) -> InstalledSkill:
    """Returns the installed skill with this id. Raises NotFound `skill_not_found` if there is no such skill,
    or if it is installed only for another user.
    """
    row = await session.get(InstalledSkill, skill_id)
    if row is None or row.user_id not in {None, user_id}:
        raise NotFound("No such skill is installed.", code="skill_not_found")
    return row


def source_of(row: InstalledSkill) -> SkillOrigin:
    if row.source is None:
        return SkillOrigin()
    repository = Marketplace(
        name=row.marketplace or "given", source=row.source, ref=row.ref, repo_path=row.repo_path
    )
    return SkillOrigin(row.marketplace, repository)


async def replace(session: AsyncSession, row: InstalledSkill, content: Content) -> bool:
    """Replaces the data of an installed skill, such as its text and its commit, by the data in `content`.
    Returns whether the text has changed.
    """
    is_changed = row.text != content.text
    _set(row, content)
    row.updated_at = now()
    await session.flush()
    return is_changed


def _set(row: InstalledSkill, content: Content) -> None:
    row.description, row.path, row.text = content.description, content.path, content.text
    row.commit_id, row.other_files = content.commit, content.other_files
    row.has_update, row.checked_at, row.check_problem = False, now(), None


def _belongs_to(user_id: UUID | None) -> ColumnElement[bool]:
    return InstalledSkill.user_id.is_(None) if user_id is None else InstalledSkill.user_id == user_id


def _not_found(name: str) -> NotFound:
    return NotFound(
        f"There is no skill {name} there.",
        code="skill_not_found",
        fix="Choose one of the skills in the catalogue.",
    )
