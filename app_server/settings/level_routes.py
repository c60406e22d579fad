"""Routes for settings that the organisation, its teams and its users can set. Users read which values apply
to them. Administrators set values for the organisation and for teams, and quotas for people.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import ValidationError
from sqlalchemy import select

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.access.people import find
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.errors import BadRequest, NotFound, invalid_body
from app_server.levels import service
from app_server.levels.models import Level, LevelSetting, SettingName
from app_server.levels.quotas import QUOTAS, TOTALS
from app_server.levels.resolution import LevelValue
from app_server.levels.service import LevelOwner
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
    """Returns the settings that the organisation, teams and users can set, except the monthly budget. Each
    setting has the value that applies to the current user, and says whether the user, a team or the
    organisation has set this value. The monthly budget is left out, because the budgets of the organisation
    and of all the user's teams apply together.
    """
    values = await service.values_for(session, user.id)
    # Monthly budgets of all levels apply together, so none of them is the effective value.
    names = [name for name in SettingName if name is not SettingName.MONTHLY_BUDGET]
    return [_effective(name, values.get(name, ())) for name in names]


@administration_router.get("")
async def list_administered_settings(user: CurrentUser, session: ReadSession) -> list[AdministeredValue]:
    """Returns all setting values of the organisation and of its teams, and all quotas of single people. For
    each value, the reply also says which teams and how many people have another value of the same setting,
    which applies in its place.
    """
    rows = await service.all_values(session, user.organisation_id)
    of_organisation = User.organisation_id == user.organisation_id
    people = {
        row.id: row.name for row in await session.execute(select(User.id, User.name).where(of_organisation))
    }
    members: dict[UUID, set[UUID]] = {}
    for team_id, user_id in await session.execute(select(TeamMember.team_id, TeamMember.user_id)):
        members.setdefault(team_id, set()).add(user_id)
    return [
        _administered(row, team_name, rows, people, members)
        for row, team_name in rows
        if row.level is not Level.USER or row.name in QUOTAS
    ]


@administration_router.put("/organisation/{name}")
async def set_setting_of_organisation(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: SettingName, body: SaveLevelValue
) -> LevelValueInfo:
    """Sets a setting for all users of the organisation. The value applies to conversations that are started
    from now on. Quotas, the monthly budget and the model profile also apply to existing conversations. The
    model profile and the monthly budget can only be set with `enforced`, so that users cannot choose another
    value.

    Errors: 400 `setting_must_be_enforced` if such a setting is sent without `enforced`; 404
    `llm_profile_not_found` if the setting is the model profile and the value is not the name of a shared
    profile; 422 `invalid_request` if the value is not valid.
    """
    return await _save(user, trail, session, LevelOwner(user.organisation_id), name, body)


@administration_router.delete("/organisation/{name}", status_code=204)
async def delete_setting_of_organisation(
    user: CurrentUser, trail: CurrentTrail, session: Session, name: SettingName
) -> None:
    """Deletes the value that the organisation has set for a setting. Replies 404 `setting_not_set` if the
    organisation has no value for this setting.
    """
    await _delete(trail, session, LevelOwner(user.organisation_id), name)


@administration_router.put("/teams/{team_id}/{name}")
async def set_setting_of_team(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    team_id: UUID,
    name: SettingName,
    body: SaveLevelValue,
) -> LevelValueInfo:
    """Sets a setting for all members of a team. The model profile and the monthly budget can only be set with
    `enforced`, so that members cannot choose another value.

    Errors: 400 `setting_must_be_enforced` if such a setting is sent without `enforced`; 400
    `setting_not_at_level` if the setting cannot be set for a team; 404 `team_not_found` if there is no such
    team; 404 `llm_profile_not_found` if the setting is the model profile and the value is not the name of a
    shared profile; 422 `invalid_request` if the value is not valid.
    """
    return await _save(user, trail, session, await _team(user, session, team_id), name, body)


@administration_router.delete("/teams/{team_id}/{name}", status_code=204)
async def delete_setting_of_team(
    user: CurrentUser, trail: CurrentTrail, session: Session, team_id: UUID, name: SettingName
) -> None:
    """Deletes the value that an administrator has set for all members of a team. Errors: 404 `team_not_found`
    if there is no such team; 404 `setting_not_set` if the team has no value for this setting.
    """
    await _delete(trail, session, await _team(user, session, team_id), name)


@administration_router.put("/people/{user_id}/{name}")
async def set_quota_of_person(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    user_id: UUID,
    name: SettingName,
    body: SaveLevelValue,
) -> LevelValueInfo:
    """Sets a quota for one person. A quota is a limit on how much the person may use. For a setting that is
    not a quota, replies 400 `setting_not_at_level`, because an administrator cannot set it for one person.

    Other errors: 404 `person_not_found` if there is no such person; 422 `invalid_request` if the value is not
    valid.
    """
    owner = await _person(user, session, user_id)
    return await _save(user, trail, session, owner, name, body)


@administration_router.delete("/people/{user_id}/{name}", status_code=204)
async def delete_quota_of_person(
    user: CurrentUser, trail: CurrentTrail, session: Session, user_id: UUID, name: SettingName
) -> None:
    """Deletes a quota that was set for one person. Errors: 400 `setting_not_at_level` if the setting is not a
    quota; 404 `person_not_found` if there is no such person; 404 `setting_not_set` if this quota is not set
    for the person.
    """
    owner = await _person(user, session, user_id)
    _require_level(owner, name)
    await _delete(trail, session, owner, name)


async def _team(user: User, session: Session, team_id: UUID) -> LevelOwner:
    return LevelOwner(user.organisation_id, team=await find_team(session, team_id, user.organisation_id))


async def _person(user: User, session: Session, user_id: UUID) -> LevelOwner:
    return LevelOwner(user.organisation_id, person=await find(session, user_id, user.organisation_id))


async def _save(
    user: User,
    trail: CurrentTrail,
    session: Session,
    owner: LevelOwner,
    name: SettingName,
    body: SaveLevelValue,
) -> LevelValueInfo:
    _require_level(owner, name)
    value = _checked(name, body)
    if name is SettingName.LLM_PROFILE:
        await shared_profile(session, user.id, value)
    await service.save_for(session, owner, name, value, enforced=body.enforced, set_by=user.id)
    _record(trail, session, owner, name, change="set", value=value, enforced=body.enforced)
    team_id, team_name = (owner.team.id, owner.team.name) if owner.team else (None, None)
    return _info(LevelValue(owner.level, value, body.enforced, team_id, team_name))


def _require_level(owner: LevelOwner, name: SettingName) -> None:
    """Checks that this setting can be set for `owner`, which is the organisation, a team or a person. For
    example, only quotas can be set for a person. Raises BadRequest `setting_not_at_level` if the setting
    cannot be set for `owner`.
    """
    for_one = owner.level is Level.USER and name not in QUOTAS
    for_all = owner.level is not Level.ORGANISATION and name in TOTALS.values()
    if for_one or for_all:
        raise BadRequest(
            f"The setting `{name}` cannot be set for a {owner.level}.",
            code="setting_not_at_level",
            fix="Set it for the organisation."
            if for_all
            else "Each person sets it on the person's own page.",
        )


async def _delete(trail: CurrentTrail, session: Session, owner: LevelOwner, name: SettingName) -> None:
    if not await service.delete_value(session, owner.id, name):
        raise NotFound(f"The setting `{name}` has no value at this level.", code="setting_not_set")
    _record(trail, session, owner, name, change="deleted")


def _record(
    trail: CurrentTrail, session: Session, owner: LevelOwner, name: SettingName, **details: Any
) -> None:
    target = (AuditTarget.SETTING, name.value)
    id_ = None if owner.level is Level.ORGANISATION else owner.id.hex
    trail.record(session, AuditAction.SETTING_CHANGED, target, level=owner.level.value, owner=id_, **details)


def _checked(name: SettingName, body: SaveLevelValue) -> Any:
    """Checks the value in the request body, and returns it in the form in which it is stored. Raises
    RequestValidationError if the value is not valid for this setting. Raises BadRequest
    `setting_must_be_enforced` if `enforced` is false, but this setting can only be set with `enforced`.
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
    if name is SettingName.MONTHLY_BUDGET and not body.enforced:
        raise BadRequest(
            "A budget of all members together can only be enforced.",
            code="setting_must_be_enforced",
            fix="Send enforced: true.",
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
        user_id=row.user_id,
        user_name=people.get(row.user_id) if row.user_id else None,
        set_by=people.get(row.set_by) if row.set_by else None,
        updated_at=row.updated_at,
        overriding_teams=sorted(name for _, name in teams),
        overriding_people=len(own & set(reached)),
    )
