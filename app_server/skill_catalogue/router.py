"""Routes to list the skills that can be installed, to install, update and remove skills, and to switch skills
on or off.
"""

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentPrincipal, CurrentUser
from app_server.access.permissions import Permission
from app_server.access.principal import Principal
from app_server.access.route_access import permission_missing
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, ServerDatabase, Session
from app_server.core.pagination import Limit, Page, PageId, page_of
from app_server.core.server_objects import ServerConfig
from app_server.git.pinned_git import guard_for
from app_server.skill_catalogue import service
from app_server.skill_catalogue.repositories import known_repositories, read_all
from app_server.skill_catalogue.schemas import (
    CatalogueSkill,
    ChooseSkill,
    InstalledSkillInfo,
    InstalledSkillWithText,
    InstallSkill,
    RepositoryName,
    SkillChoiceInfo,
    SkillRepositoryInfo,
    UpdatedSkill,
    fields_of,
    installed_info,
)
from app_server.skills import choices
from app_server.skills.bundled import shipped_skills
from app_server.skills.installed import installed_for, skill_files
from app_server.skills.loading import SkillLoading, loading
from app_server.skills.models import EVERYWHERE, InstalledSkill

router = APIRouter(prefix="/api/v1/skills", tags=["Skills"])


@router.get("/catalogue")
async def search_catalogue(
    user: CurrentUser,
    session: ReadSession,
    query: Annotated[str, Query(max_length=200)] = "",
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[CatalogueSkill]:
    """Lists the skills that the user can install. The skills that are part of Slipway come first. After
    these, the list contains the skills that were found in registered marketplaces when the marketplaces were
    last read.

    `query`: words that must all be in the name or the description of a skill. An empty query returns all
    skills.
    """
    repositories = await known_repositories(session, user.id)
    shipped = await asyncio.to_thread(shipped_skills)
    found = service.catalogue(shipped, repositories, await installed_for(session, user.id), query)
    items, next_page_id = page_of(found, page_id, limit)
    return Page(items=items, next_page_id=next_page_id)


@router.get("/catalogue/repositories")
async def list_skill_repositories(user: CurrentUser, session: ReadSession) -> list[SkillRepositoryInfo]:
    """Returns the marketplaces that are registered for the user or for all users. Each has the number of its
    skills, and `problems`: sentences about skills that cannot be used. A marketplace is a git repository with
    skills.
    """
    return [each.info for each in await known_repositories(session, user.id)]


@router.post("/catalogue/read")
async def read_skill_repositories(
    user: CurrentUser, database: ServerDatabase, config: ServerConfig
) -> list[SkillRepositoryInfo]:
    """Fetches all marketplaces that are registered for the user or for all users, and stores the skills that
    they contain now. The catalogue then lists these skills. Returns the marketplaces. A marketplace is a git
    repository.

    If a marketplace cannot be read, its `problems` say why. Skills that are installed already do not change.
    """
    await read_all(database, user.id, guard_for(config, administers=user.administers_installation))
    async with database.read() as session:
        return [each.info for each in await known_repositories(session, user.id)]


@router.get("/installed")
async def list_installed_skills(user: CurrentUser, session: ReadSession) -> list[InstalledSkillInfo]:
    """Returns the skills that are installed for the user or for all users of this installation, sorted by
    name.
    """
    return [installed_info(row) for row in await installed_for(session, user.id)]


@router.post("/installed", status_code=201)
async def install_skill(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    database: ServerDatabase,
    config: ServerConfig,
    body: InstallSkill,
) -> InstalledSkillInfo:
    """Installs a skill for the user, or for all users if `is_for_everyone` is set. The text of the skill is
    read from its source now. New conversations get this text until the skill is updated.

    Errors: 403 `permission_missing` if the user sets `is_for_everyone` without being an administrator of the
    installation; 404 `skill_not_found` if there is no such skill; 404 `marketplace_not_found` if there is no
    such marketplace; 409 `skill_name_taken` if a skill with this name is already installed; 409
    `too_many_skills` (the limit is 100); 422 `skill_refused` if the skill cannot be used; 422
    `skill_repository_unreadable` if the source cannot be read.
    """
    user = principal.user
    if body.is_for_everyone:
        _check_administers(principal)
    async with database.read() as session:
        origin = await service.origin_of(session, user.id, body)
    content = await service.read_content(
        origin, body.name, guard_for(config, administers=user.administers_installation)
    )
    user_id = None if body.is_for_everyone else user.id
    async with database.session() as session:
        row = await service.install(session, user_id, body.name, origin, content)
        _record(trail, session, AuditAction.SKILL_INSTALLED, row)
    return installed_info(row)


@router.get("/installed/{skill_id}")
async def get_installed_skill(
    user: CurrentUser, session: ReadSession, skill_id: UUID
) -> InstalledSkillWithText:
    """Returns one installed skill with its text. Replies 404 `skill_not_found` if it is not installed for the
    user or for all users.
    """
    row = await service.installed_skill(session, user.id, skill_id)
    return InstalledSkillWithText(**fields_of(row), text=row.text)


@router.post("/installed/{skill_id}/update")
async def update_installed_skill(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    database: ServerDatabase,
    config: ServerConfig,
    skill_id: UUID,
) -> UpdatedSkill:
    """Updates an installed skill: reads the skill at its source and replaces the installed text. If the
    source cannot be read, the installed text remains.

    Errors: 403 `permission_missing` if the skill is installed for all users and the user is not an
    administrator of the installation; 404 `skill_not_found` if there is no such skill; 422 `skill_refused` if
    the skill cannot be used; 422 `skill_repository_unreadable` if the source cannot be read.
    """
    user = principal.user
    async with database.read() as session:
        row = await service.installed_skill(session, user.id, skill_id)
    _check_may_change(principal, row)
    guard = guard_for(config, administers=user.administers_installation)
    content = await service.read_content(service.source_of(row), row.name, guard)
    async with database.session() as session:
        row = await service.installed_skill(session, user.id, skill_id)
        is_changed = await service.replace(session, row, content)
        if is_changed:
            _record(trail, session, AuditAction.SKILL_UPDATED, row)
    return UpdatedSkill(**fields_of(row), is_changed=is_changed)


@router.delete("/installed/{skill_id}", status_code=204)
async def remove_installed_skill(
    principal: CurrentPrincipal, trail: CurrentTrail, session: Session, skill_id: UUID
) -> None:
    """Removes an installed skill. New conversations do not get it. Conversations that have started already
    can still use it.

    Errors: 403 `permission_missing` if the skill is installed for all users and the user is not an
    administrator of the installation; 404 `skill_not_found` if there is no such skill.
    """
    row = await service.installed_skill(session, principal.user.id, skill_id)
    _check_may_change(principal, row)
    await session.delete(row)
    _record(trail, session, AuditAction.SKILL_REMOVED, row)


@router.get("/loading")
async def explain_skill_loading(
    user: CurrentUser,
    session: ReadSession,
    config: ServerConfig,
    repository: Annotated[RepositoryName | None, Query()] = None,
) -> list[SkillLoading]:
    """Returns the skills of this server, and for each skill whether a new conversation about a repository
    loads it and why. `repository`: None means a conversation without a repository.

    The reply does not include the skills in the repository itself. It also does not include the skills in
    marketplaces whose skills are loaded automatically (`auto_load`). Such skills are read only when the
    conversation starts.
    """
    files = await skill_files(session, config, user.id)
    chosen = await choices.choices_of(session, user.id)
    disabled = choices.disabled_in(chosen, repository or EVERYWHERE)
    return await asyncio.to_thread(loading, files, disabled)


@router.get("/choices")
async def list_skill_choices(user: CurrentUser, session: ReadSession) -> list[SkillChoiceInfo]:
    """Returns the user's choices to switch skills on or off, sorted by skill name and repository."""
    return await _choices(session, user.id)


@router.put("/choices")
async def choose_skill(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: ChooseSkill
) -> list[SkillChoiceInfo]:
    """Stores the user's choice for one skill: switched on or switched off in the user's new conversations. If
    `is_enabled` is null, deletes the stored choice for this skill instead. Returns all choices of the user.

    The choice applies to one repository or to all conversations. The name may also be the name of a skill
    that is not on this server, such as a skill in a repository. Replies 409 `too_many_skill_choices` if the
    user already has 1000 choices.
    """
    repository = body.repository or EVERYWHERE
    await choices.choose(session, user.id, body.name, repository, is_enabled=body.is_enabled)
    change = {True: "on", False: "off", None: "no choice"}[body.is_enabled]
    target = (AuditTarget.SKILL, body.name)
    trail.record(session, AuditAction.SKILL_SWITCHED, target, change=change, repository=body.repository)
    return await _choices(session, user.id)


async def _choices(session: Session, user_id: UUID) -> list[SkillChoiceInfo]:
    return [
        SkillChoiceInfo(name=row.name, repository=row.repository or None, is_enabled=row.is_enabled)
        for row in await choices.choices_of(session, user_id)
    ]


def _check_may_change(principal: Principal, row: InstalledSkill) -> None:
    if row.user_id is None:
        _check_administers(principal)


def _check_administers(principal: Principal) -> None:
    if not principal.may(Permission.INSTALLATION):
        raise permission_missing(Permission.INSTALLATION)


def _record(trail: CurrentTrail, session: Session, action: AuditAction, row: InstalledSkill) -> None:
    trail.record(
        session,
        action,
        (AuditTarget.SKILL, row.name),
        source=row.source,
        commit=row.commit_id,
        everyone=row.user_id is None or None,
    )
