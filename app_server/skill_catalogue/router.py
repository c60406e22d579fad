"""Routes for the catalogue of skills, installed skills, and choices which of them are loaded."""

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
from app_server.skills.installed import installed_for, skill_files
from app_server.skills.loading import SkillLoading, loading
from app_server.skills.models import EVERYWHERE, InstalledSkill
from app_server.skills.shipped import shipped_skills

router = APIRouter(prefix="/api/v1/skills", tags=["Skills"])


@router.get("/catalogue")
async def search_catalogue(
    user: CurrentUser,
    session: ReadSession,
    query: Annotated[str, Query(max_length=200)] = "",
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[CatalogueSkill]:
    """Lists skills that can be installed: public skills of the product, then those that the registered
    marketplaces had when they were read last. `query`: words in the name or description.
    """
    repositories = await known_repositories(session, user.id)
    shipped = await asyncio.to_thread(shipped_skills)
    found = service.catalogue(shipped, repositories, await installed_for(session, user.id), query)
    items, next_page_id = page_of(found, page_id, limit)
    return Page(items=items, next_page_id=next_page_id)


@router.get("/catalogue/repositories")
async def list_skill_repositories(user: CurrentUser, session: ReadSession) -> list[SkillRepositoryInfo]:
    """Returns the registered marketplaces, with the skills that were refused and the reasons."""
    return [each.info for each in await known_repositories(session, user.id)]


@router.post("/catalogue/read")
async def read_skill_repositories(
    user: CurrentUser, database: ServerDatabase, config: ServerConfig
) -> list[SkillRepositoryInfo]:
    """Reads the registered marketplaces again, for the catalogue. One that cannot be read is named in
    `problems`. Installed skills do not change.
    """
    await read_all(database, user.id, guard_for(config, administers=user.administers_installation))
    async with database.read() as session:
        return [each.info for each in await known_repositories(session, user.id)]


@router.get("/installed")
async def list_installed_skills(user: CurrentUser, session: ReadSession) -> list[InstalledSkillInfo]:
    """Returns the skills that are installed for the user or for everyone, by name."""
    return [installed_info(row) for row in await installed_for(session, user.id)]


@router.post("/installed", status_code=201)
async def install_skill(
    principal: CurrentPrincipal,
    trail: CurrentTrail,
    database: ServerDatabase,
    config: ServerConfig,
    body: InstallSkill,
) -> InstalledSkillInfo:
    """Installs a skill. New conversations get this version of it.

    403 `permission_missing` for `is_for_everyone`; 404 `skill_not_found`, `marketplace_not_found`; 409
    `skill_name_taken`, `too_many_skills` (100); 422 `skill_refused`, `skill_repository_unreadable`.
    """
    user = principal.user
    if body.is_for_everyone:
        _check_administers(principal)
    async with database.read() as session:
        place = await service.place_of(session, user.id, body)
    content = await service.read_content(
        place, body.name, guard_for(config, administers=user.administers_installation)
    )
    user_id = None if body.is_for_everyone else user.id
    async with database.session() as session:
        row = await service.install(session, user_id, body.name, place, content)
        _record(trail, session, AuditAction.SKILL_INSTALLED, row)
    return installed_info(row)


@router.get("/installed/{skill_id}")
async def get_installed_skill(
    user: CurrentUser, session: ReadSession, skill_id: UUID
) -> InstalledSkillWithText:
    """Returns an installed skill with its text."""
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
    """Reads a skill again at its source. If that fails, the installed version remains.

    403 `permission_missing` for a skill of everyone; 404 `skill_not_found`; 422 `skill_refused`,
    `skill_repository_unreadable`.
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
    """Removes an installed skill. Conversations that have begun keep it.

    403 `permission_missing` for a skill of everyone; 404 `skill_not_found`.
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
    """Returns which skills of this server a new conversation about a repository loads, and why. Without a
    repository: a conversation without one.

    Skills of the repository itself, and of marketplaces that are loaded by default, are not included: they
    are read when a conversation begins.
    """
    files = await skill_files(session, config, user.id)
    chosen = await choices.choices_of(session, user.id)
    disabled = choices.disabled_in(chosen, repository or EVERYWHERE)
    return await asyncio.to_thread(loading, files, disabled)


@router.get("/choices")
async def list_skill_choices(user: CurrentUser, session: ReadSession) -> list[SkillChoiceInfo]:
    """Returns which skills the user has switched off or on, by name and repository."""
    return await _choices(session, user.id)


@router.put("/choices")
async def choose_skill(
    user: CurrentUser, trail: CurrentTrail, session: Session, body: ChooseSkill
) -> list[SkillChoiceInfo]:
    """Switches a skill off or on, everywhere or in one repository, and returns all choices. The name may be
    of any skill, also one in a repository. New conversations follow it.

    409 `too_many_skill_choices` (1000).
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
