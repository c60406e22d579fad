"""Reads and changes the settings of organisations, teams and users. Other packages call this module to find
out which value of a setting applies to a user.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Forbidden
from app_server.levels.models import Level, LevelSetting, SettingName
from app_server.levels.resolution import LevelValue, in_order
from app_server.teams.membership import teams_of
from app_server.teams.models import Team
from app_server.teams.repositories.first_team import first_team
from app_server.users.colleagues import members_of, organisation_of
from app_server.users.models import User


@dataclass(frozen=True)
class LevelOwner:
    """The owner of a setting or of an item (such as a secret that is provided to all members). The owner is
    the team `team`, the user `person`, or, if both are None, the organisation.
    """

    organisation_id: UUID
    team: Team | None = None
    person: User | None = None

    @property
    def level(self) -> Level:
        if self.team is not None:
            return Level.TEAM
        return Level.ORGANISATION if self.person is None else Level.USER

    @property
    def id(self) -> UUID:
        owner = self.team or self.person
        return self.organisation_id if owner is None else owner.id


async def values_for(
    session: AsyncSession, user_id: UUID, *names: SettingName
) -> Mapping[SettingName, Sequence[LevelValue]]:
    """Returns the values of settings that the user, the user's teams and the organisation have set. The
    values of each setting are sorted by priority: the first value applies to the user.

    names: the settings to return; if empty, all settings. Settings without a value are not in the result.
    """
    query = rows_for(user_id).where(LevelSetting.name.in_(names or SettingName))
    found: defaultdict[SettingName, list[LevelValue]] = defaultdict(list)
    for row, team_name in await session.execute(query):
        found[SettingName(row.name)].append(as_value(row, team_name, first_team(session)))
    return {name: in_order(values) for name, values in found.items()}


async def value_for(session: AsyncSession, user_id: UUID, name: SettingName) -> LevelValue | None:
    """Returns the value of a setting that applies to a user. Returns None if neither the user, nor a team of
    the user, nor the organisation has set a value.
    """
    values = (await values_for(session, user_id, name)).get(name)
    return values[0] if values else None


async def enforced_for(session: AsyncSession, user_id: UUID, name: SettingName) -> LevelValue | None:
    """Returns the value of a setting that the organisation or a team enforces, so that the user cannot change
    the setting. Returns None if no value is enforced.
    """
    value = await value_for(session, user_id, name)
    return value if value is not None and value.enforced else None


async def require_allowed(session: AsyncSession, user_id: UUID, name: SettingName, wanted: Any) -> None:
    """Checks that a user may use the value `wanted` for a setting. Raises Forbidden `setting_enforced` if the
    organisation or a team enforces a different value.
    """
    value = await enforced_for(session, user_id, name)
    if value is not None and value.value != wanted:
        raise setting_enforced(name, value)


async def save_own(session: AsyncSession, user_id: UUID, name: SettingName, value: Any) -> None:
    """Stores a user's own value of a setting. value: None deletes the user's own value.

    If the organisation or a team enforces a value: does nothing if `value` is the enforced value, otherwise
    raises Forbidden `setting_enforced`.
    """
    enforced = await enforced_for(session, user_id, name)
    if enforced is not None:
        if enforced.value != value:
            raise setting_enforced(name, enforced)
    elif value is None:
        await delete_value(session, user_id, name)
    else:
        row = LevelSetting(owner_id=user_id, level=Level.USER, user_id=user_id, set_by=user_id)
        await _merge(session, row, name, value, enforced=False)


async def save_for(
    session: AsyncSession,
    owner: LevelOwner,
    name: SettingName,
    value: Any,
    *,
    enforced: bool,
    set_by: UUID,
) -> None:
    """Stores the value of a setting for an owner: the organisation, a team or a user. Replaces the value that
    is stored for this owner, if there is one.

    enforced: True means that users cannot override the value. If the owner is the organisation, teams cannot
    override it either. set_by: the user who sets the value.
    """
    row = LevelSetting(
        owner_id=owner.id,
        level=owner.level,
        team_id=owner.team and owner.team.id,
        user_id=owner.person and owner.person.id,
        set_by=set_by,
    )
    await _merge(session, row, name, value, enforced=enforced)


async def delete_value(session: AsyncSession, owner_id: UUID, name: SettingName) -> bool:
    """Deletes the value of a setting that this organisation, team or user has set. Returns whether there was
    a value. owner_id: the id of the organisation, team or user.
    """
    this = delete(LevelSetting).where(LevelSetting.owner_id == owner_id, LevelSetting.name == name)
    return await session.scalar(this.returning(LevelSetting.name)) is not None


async def all_values(
    session: AsyncSession, organisation_id: UUID
) -> Sequence[tuple[LevelSetting, str | None]]:
    """Returns all values of settings that the organisation, its teams and its users have set. The result is a
    list of pairs: a row of the settings table, and the name of the team that the row belongs to (None if it
    belongs to no team). The pairs are sorted by setting, and then by level (organisation, team or user).
    """
    query = rows_with_team().where(LevelSetting.name.in_(SettingName), is_in(organisation_id))
    rows = await session.execute(query.order_by(LevelSetting.name, LevelSetting.level, Team.name_key))
    return [(row, team_name) for row, team_name in rows]


def as_value(row: LevelSetting, team_name: str | None, first_team_id: UUID | None = None) -> LevelValue:
    """Converts a row of the settings table to a LevelValue. team_name: the name of the team that owns the
    row; None if no team owns it.

    first_team_id: the team that owns the repository of the conversation for which the setting is read. The
    values of this team have priority over the values of other teams. None if there is no such team.
    """
    comes_first = first_team_id is not None and row.team_id == first_team_id
    return LevelValue(row.level, row.value, row.enforced, row.team_id, team_name, row.owner_id, comes_first)


def setting_enforced(name: str, value: LevelValue) -> Forbidden:
    """Returns the error for a user who tries to change a setting or an item that the organisation or a team
    enforces. The caller raises the error.

    name: the name of the setting or item. value: the enforced value, with the organisation or team that has
    set it.
    """
    return Forbidden(
        f"The setting `{name}` is set by {value.whose} and cannot be changed.",
        code="setting_enforced",
        fix="Leave this setting out, or ask an administrator.",
        setting=str(name),
        set_by=value.level.value,
        team=value.team_name,
        value=value.value,
    )


def rows_with_team() -> Select[LevelSetting, str | None]:
    """Returns the database query for all rows of the settings table. The second column is the name of the
    team that owns the row, or NULL.
    """
    return select(LevelSetting, Team.name).outerjoin(Team, Team.id == LevelSetting.team_id)


def rows_for(user_id: UUID) -> Select[LevelSetting, str | None]:
    """Returns the database query for the rows of the settings table that belong to a user, to a team of the
    user or to the user's organisation. The second column is the name of the team that owns the row, or NULL.
    """
    return rows_with_team().where(
        or_(
            LevelSetting.owner_id == user_id,
            LevelSetting.owner_id == organisation_of(user_id),
            LevelSetting.team_id.in_(teams_of(user_id)),
        )
    )


def is_in(organisation_id: UUID) -> ColumnElement[bool]:
    """Returns the SQL condition that a row of the settings table belongs to an organisation, or to a team or
    a user of this organisation.
    """
    return or_(
        LevelSetting.owner_id == organisation_id,
        LevelSetting.team_id.in_(select(Team.id).where(Team.organisation_id == organisation_id)),
        LevelSetting.user_id.in_(members_of(organisation_id)),
    )


async def _merge(
    session: AsyncSession, row: LevelSetting, name: SettingName, value: Any, *, enforced: bool
) -> None:
    row.name, row.value, row.enforced = name.value, value, enforced
    await session.merge(row)
    await session.flush()
