"""Items that the organisation and teams give to their members: secrets, MCP servers, network rules, sandbox
specs. Each item has a name.

Items are rows of the same table as the settings at levels. The same rule decides which of several items with
one name applies. An item that a person adds is stored in another table, one for each kind of item; in this
module it counts as an item of the level USER.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID, uuid5

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.errors import Conflict, NotFound
from app_server.levels.models import Level, LevelItemKind, LevelSetting
from app_server.levels.resolution import LevelValue, in_order
from app_server.levels.service import LevelOwner, as_value, is_in, rows_for, rows_with_team, setting_enforced
from app_server.teams.models import Team
from app_server.teams.repositories.first_team import first_team

MAX_ITEMS = 100
"""The limit for the items of one kind that the organisation or a team has."""

T = TypeVar("T")


@dataclass(frozen=True)
class LevelItem:
    """One item of the organisation or a team, such as a secret or an MCP server. `level_value.value`: the
    part of the item that all members may read. `id`: stays the same as long as this owner has an item of this
    name. `sealed`: the encrypted part.
    """

    id: UUID
    kind: LevelItemKind
    name: str
    level_value: LevelValue
    set_by: UUID | None
    updated_at: datetime
    sealed: str | None = field(repr=False)

    @property
    def sealed_part(self) -> str:
        """The encrypted part of this item. Must be called only for items of a kind that has an encrypted
        part.
        """
        assert self.sealed is not None
        return self.sealed


async def items_for(
    session: AsyncSession, user_id: UUID, *kinds: LevelItemKind
) -> Mapping[tuple[LevelItemKind, str], Sequence[LevelItem]]:
    """Returns the items that the organisation and the person's teams give, by kind and name. The items of one
    name are sorted by strength: the first item overrides the others.
    """
    found: defaultdict[tuple[LevelItemKind, str], list[LevelItem]] = defaultdict(list)
    for row, team_name in await session.execute(rows_for(user_id).where(_is_of(*kinds))):
        item = _item(row, team_name, first_team(session))
        found[item.kind, item.name].append(item)
    return {key: _strongest_first(items) for key, items in found.items()}


async def in_effect(
    session: AsyncSession,
    user_id: UUID,
    kind: LevelItemKind,
    own: Mapping[str, T],
    given: Callable[[LevelItem], T],
) -> dict[str, T]:
    """Returns the items of one kind that apply to a person, by name and sorted by name. own: the items that
    the person has added. given: converts an item of the organisation or a team to the type of `own`.
    """
    items = {name: found for (_, name), found in (await items_for(session, user_id, kind)).items()}
    return {
        name: _first(own.get(name), items.get(name, ()), given) for name in sorted(own.keys() | items.keys())
    }


async def require_not_enforced(session: AsyncSession, user_id: UUID, kind: LevelItemKind, name: str) -> None:
    """Checks that a person may add their own item of this name. Raises Forbidden `setting_enforced`."""
    for item in (await items_for(session, user_id, kind)).get((kind, name), ()):
        if item.level_value.enforced:
            raise setting_enforced(name, replace(item.level_value, value=None))


async def all_items(
    session: AsyncSession, organisation_id: UUID | None, *kinds: LevelItemKind
) -> Sequence[LevelItem]:
    """Returns the items of an organisation and of all its teams, sorted by kind and name.

    organisation_id: None means all organisations. kinds: the kinds to return; if empty, all kinds.
    """
    query = (
        rows_with_team().where(_is_of(*kinds)).order_by(LevelSetting.name, LevelSetting.level, Team.name_key)
    )
    if organisation_id is not None:
        query = query.where(is_in(organisation_id))
    return [_item(row, team_name) for row, team_name in await session.execute(query)]


async def find_item(
    session: AsyncSession, owner: LevelOwner, kind: LevelItemKind, name: str
) -> LevelItem | None:
    """Returns the item that this owner has under this name. Returns None if there is none."""
    row = await session.get(LevelSetting, (owner.id, _stored_name(kind, name)))
    return None if row is None else _item(row, owner.team.name if owner.team else None)


async def save_item(
    session: AsyncSession,
    owner: LevelOwner,
    kind: LevelItemKind,
    name: str,
    value: Any,
    *,
    sealed: str | None,
    enforced: bool,
    set_by: UUID,
) -> LevelItem:
    """Adds an item, or replaces the owner's existing item of this name. Raises Conflict `too_many_items`."""
    stored_name = _stored_name(kind, name)
    of_kind = select(func.count()).where(
        LevelSetting.owner_id == owner.id, _is_of(kind), LevelSetting.name != stored_name
    )
    if (await session.scalar(of_kind) or 0) >= MAX_ITEMS:
        raise Conflict(f"There can be at most {MAX_ITEMS} of this kind.", code="too_many_items")
    row = LevelSetting(
        owner_id=owner.id,
        name=stored_name,
        level=owner.level,
        team_id=owner.team and owner.team.id,
        user_id=None,
        value=value,
        sealed_encrypted=sealed,
        enforced=enforced,
        set_by=set_by,
    )
    merged = await session.merge(row)
    await session.flush()
    await session.refresh(merged)
    return _item(merged, owner.team.name if owner.team else None)


async def change_value(
    session: AsyncSession, owner: LevelOwner, kind: LevelItemKind, name: str, value: Any
) -> None:
    """Replaces the part of an item that all members may read. The encrypted part stays."""
    this = LevelSetting.owner_id == owner.id, LevelSetting.name == _stored_name(kind, name)
    await session.execute(update(LevelSetting).where(*this).values(value=value))


async def delete_item(session: AsyncSession, owner: LevelOwner, kind: LevelItemKind, name: str) -> None:
    """Deletes an item of the organisation or a team. Raises NotFound `item_not_set`."""
    this = delete(LevelSetting).where(
        LevelSetting.owner_id == owner.id, LevelSetting.name == _stored_name(kind, name)
    )
    if await session.scalar(this.returning(LevelSetting.name)) is None:
        raise NotFound(f"There is no {name!r} at this level.", code="item_not_set")


def _first(own: T | None, items: Sequence[LevelItem], given: Callable[[LevelItem], T]) -> T:
    values = [replace(item.level_value, value=given(item)) for item in items]
    if own is not None:
        values.append(LevelValue(Level.USER, own))
    first: T = in_order(values)[0].value
    return first


def _strongest_first(items: Sequence[LevelItem]) -> Sequence[LevelItem]:
    values = in_order(replace(item.level_value, value=item) for item in items)
    return [value.value for value in values]


def _item(row: LevelSetting, team_name: str | None, first_team_id: UUID | None = None) -> LevelItem:
    kind, _, name = row.name.partition(":")
    return LevelItem(
        id=uuid5(row.owner_id, row.name),
        kind=LevelItemKind(kind),
        name=name,
        level_value=as_value(row, team_name, first_team_id),
        set_by=row.set_by,
        updated_at=row.updated_at,
        sealed=row.sealed_encrypted,
    )


def _stored_name(kind: LevelItemKind, name: str) -> str:
    return f"{kind}:{name}"


def _is_of(*kinds: LevelItemKind) -> ColumnElement[bool]:
    """Returns the condition that a row is an item of one of the kinds. Without kinds, an item of any kind
    meets the condition.
    """
    return or_(
        *(LevelSetting.name.startswith(f"{kind}:", autoescape=True) for kind in kinds or LevelItemKind)
    )
