"""Routes for settings at several levels: what holds for the current user and why, and the values that
administrators set for the organisation and for teams.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import ValidationError
from sqlalchemy import select

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.errors import BadRequest, NotFound, invalid_body
from app_server.levels import service
from app_server.levels.models import Level, LevelSetting, SettingName
from app_server.levels.resolution import LevelValue
from app_server.settings.level_schemas import (
    TYPES,
    AdministeredValue,
    EffectiveSetting,
    LevelValueInfo,
    SaveLevelValue,
)
from app_server.settings.profile_lookup import shared_profile
from app_server.teams.models import TeamMember
from app_server.teams.service import find_team
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/settings/levels", tags=["Settings"])
administration_router = APIRouter(prefix="/api/v1/administration/settings", tags=["Administration"])


@router.get("")
async def list_effective_settings(user: CurrentUser, session: ReadSession) -> list[EffectiveSetting]:
    """Returns the settings that can be set at several levels, with the value that holds for the user and
    where it comes from.
    """
    values = await service.values_for(session, user.id)
    return [_effective(name, values.get(name, ())) for name in SettingName]


@administration_router.get("")
async def list_administered_settings(session: ReadSession) -> list[AdministeredValue]:
    """Returns all values of the organisation and of teams, and who overrides them."""
    rows = await service.all_values(session)
    people = {row.id: row.name for row in await session.execute(select(User.id, User.name))}
    members: dict[UUID, set[UUID]] = {}
    for team_id, user_id in await session.execute(select(TeamMember.team_id, TeamMember.user_id)):
        members.setdefault(team_id, set()).add(user_id)
    return [
        _administered(row, team_name, rows, people, members)
        for row, team_name in rows
        if row.level is not Level.USER
    ]


@administration_router.put("/organisation/{name}")
async def set_setting_of_organisation(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: SettingName, body: SaveLevelValue
) -> LevelValueInfo:
    """Sets a value for everyone here. It applies to conversations that start from now on; an enforced model
    applies to the next call of every conversation.

    400 `setting_must_be_enforced`, 404 `llm_profile_not_found`, 422 `invalid_request`.
    """
    return await _save(user, trail, session, None, name, body)


@administration_router.delete("/organisation/{name}", status_code=204)
async def delete_setting_of_organisation(trail: CurrentTrail, session: Session, name: SettingName) -> None:
    """Deletes the organisation's value. 404 `setting_not_set`."""
    await _delete(trail, session, None, name)


@administration_router.put("/teams/{team_id}/{name}")
async def set_setting_of_team(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    team_id: UUID,
    name: SettingName,
    body: SaveLevelValue,
) -> LevelValueInfo:
    """Sets a value for the members of a team.

    400 `setting_must_be_enforced`, 404 `team_not_found`, `llm_profile_not_found`, 422 `invalid_request`.
    """
    return await _save(user, trail, session, team_id, name, body)


@administration_router.delete("/teams/{team_id}/{name}", status_code=204)
async def delete_setting_of_team(
    trail: CurrentTrail, session: Session, team_id: UUID, name: SettingName
) -> None:
    """Deletes a team's value. 404 `team_not_found`, `setting_not_set`."""
    await _delete(trail, session, team_id, name)


async def _save(
    user: User,
    trail: CurrentTrail,
    session: Session,
    team_id: UUID | None,
    name: SettingName,
    body: SaveLevelValue,
) -> LevelValueInfo:
    team = None if team_id is None else await find_team(session, team_id)
    value = _checked(name, body)
    if name is SettingName.LLM_PROFILE:
        await shared_profile(session, value)
    await service.save_for_many(session, team_id, name, value, enforced=body.enforced, set_by=user.id)
    _record(trail, session, team_id, name, change="set", value=value, enforced=body.enforced)
    level = Level.ORGANISATION if team is None else Level.TEAM
    return _info(LevelValue(level, value, body.enforced, team_id, None if team is None else team.name))


async def _delete(trail: CurrentTrail, session: Session, team_id: UUID | None, name: SettingName) -> None:
    if team_id is not None:
        await find_team(session, team_id)
    if not await service.delete_value(session, service.owner_of(team_id), name):
        raise NotFound(f"The setting `{name}` has no value at this level.", code="setting_not_set")
    _record(trail, session, team_id, name, change="deleted")


def _record(
    trail: CurrentTrail, session: Session, team_id: UUID | None, name: SettingName, **details: Any
) -> None:
    target = (AuditTarget.SETTING, name.value)
    owner = "organisation" if team_id is None else team_id.hex
    trail.record(session, AuditAction.SETTING_CHANGED, target, owner=owner, **details)


def _checked(name: SettingName, body: SaveLevelValue) -> Any:
    """Returns the value in the form in which it is stored. Raises RequestValidationError, BadRequest
    `setting_must_be_enforced`.
    """
    try:
        value = TYPES[name].validate_python(body.value)
    except ValidationError as error:
        raise invalid_body(error) from error
    if name is SettingName.LLM_PROFILE and not body.enforced:
        raise BadRequest(
            "A model for everyone can only be enforced. Without that, people choose among the shared models.",
            code="setting_must_be_enforced",
            fix="Send enforced: true, or share the model only.",
        )
    return TYPES[name].dump_python(value, mode="json")


def _effective(name: SettingName, values: Sequence[LevelValue]) -> EffectiveSetting:
    first = values[0] if values else None
    return EffectiveSetting(
        name=name,
        value=None if first is None else first.value,
        level=None if first is None else first.level,
        team_name=None if first is None else first.team_name,
        enforced=first is not None and first.enforced,
        overridden=[_info(value) for value in values[1:]],
    )


def _info(value: LevelValue) -> LevelValueInfo:
    return LevelValueInfo(
        level=value.level,
        team_id=value.team_id,
        team_name=value.team_name,
        value=value.value,
        enforced=value.enforced,
    )


def _administered(
    row: LevelSetting,
    team_name: str | None,
    rows: Sequence[tuple[LevelSetting, str | None]],
    people: dict[UUID, str],
    members: dict[UUID, set[UUID]],
) -> AdministeredValue:
    same = [(other, name) for other, name in rows if other.name == row.name and other is not row]
    overridable = not row.enforced
    teams = [
        (other.team_id, name)
        for other, name in same
        if other.level is Level.TEAM and row.level is Level.ORGANISATION and overridable and name
    ]
    reached = members.get(row.team_id, set()) if row.team_id else people.keys()
    own = {other.user_id for other, _ in same if other.level is Level.USER and overridable}
    return AdministeredValue(
        **_info(service.as_value(row, team_name)).model_dump(),
        name=SettingName(row.name),
        set_by=people.get(row.set_by) if row.set_by else None,
        updated_at=row.updated_at,
        overriding_teams=sorted(name for _, name in teams),
        overriding_people=len(own & set(reached)),
    )
