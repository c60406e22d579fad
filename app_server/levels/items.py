"""Items that the organisation or a team provides to its members: secrets, MCP servers, network rules (which
hosts sandboxes may call) and sandbox specs (the image and settings of new sandboxes). Each item has a name.

Items are stored in the same table as settings. A user can also add items for personal use. These are stored
in other tables, one for each kind. If several items with the same name are available to a user, the rule for
settings (resolution.py) decides which one applies. For this rule, a personal item has the level USER.
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
"""The maximum number of items of one kind (for example secrets) that the organisation has, or that one team
has.
"""

T = TypeVar("T")


@dataclass(frozen=True)
class LevelItem:
    """An item that the organisation or a team provides to its members, such as a secret or an MCP server.

    `level_value.value`: the part of the item that all members may read. `encrypted`: the encrypted part; None
    if the item has none. `id`: is computed from the owner, the kind and the name, so it stays the same when
    the item is replaced. `set_by`: the user who has set the item.
    """

    id: UUID
    kind: LevelItemKind
    name: str
    level_value: LevelValue
    set_by: UUID | None
    updated_at: datetime
    encrypted: str | None = field(repr=False)

    @property
    def encrypted_part(self) -> str:
        """The encrypted part of this item, such as the value of a secret. Raises AssertionError if the item
        has no encrypted part.
        """
        assert self.encrypted is not None
        return self.encrypted


async def items_for(
    session: AsyncSession, user_id: UUID, *kinds: LevelItemKind
) -> Mapping[tuple[LevelItemKind, str], Sequence[LevelItem]]:
    """Returns the items that the user's organisation and teams provide to the user. Items are secrets, MCP
    servers, network rules and sandbox specs (the image and settings of new sandboxes). The keys of the result
    are the kind and the name of an item. The values are lists, because the organisation and several teams can
    provide items of the same kind and name. The first item of a list applies to the user.

    kinds: the kinds of items to return; if empty, all kinds.
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
    """Returns the items of one kind that apply to a user, by name. The items come from the user, the user's
    teams and the organisation. Of several items with the same name, only one applies: usually the user's
    item, but an enforced item of the organisation or a team has priority (resolution.py).

    own: the items that the user has added, by name. given: a function that converts an item of the
    organisation or a team to the type of the items in `own`.
    """
    items = {name: found for (_, name), found in (await items_for(session, user_id, kind)).items()}
    return {
        name: _first(own.get(name), items.get(name, ()), given) for name in sorted(own.keys() | items.keys())
    }


async def require_not_enforced(session: AsyncSession, user_id: UUID, kind: LevelItemKind, name: str) -> None:
    """Checks that a user may add a personal item (such as a secret or an MCP server) with this kind and name.
    Raises Forbidden `setting_enforced` if the organisation or a team of the user enforces an item with this
    kind and name.
    """
    for item in (await items_for(session, user_id, kind)).get((kind, name), ()):
        if item.level_value.enforced:
            raise setting_enforced(name, replace(item.level_value, value=None))


async def all_items(
    session: AsyncSession, organisation_id: UUID | None, *kinds: LevelItemKind
) -> Sequence[LevelItem]:
    """Returns the items that an organisation and its teams provide to their members, sorted by kind and name.
    Items are secrets, MCP servers, network rules and sandbox specs (the image and settings of new sandboxes).

    organisation_id: None means all organisations. kinds: the kinds of items to return; if empty, all kinds.
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
    """Returns the item of this kind and name (such as a secret or an MCP server) that the organisation or
    team `owner` provides to its members. Returns None if there is no such item.
    """
    row = await session.get(LevelSetting, (owner.id, _stored_name(kind, name)))
    return None if row is None else _item(row, owner.team.name if owner.team else None)


async def save_item(
    session: AsyncSession,
    owner: LevelOwner,
    kind: LevelItemKind,
    name: str,
    value: Any,
    *,
    encrypted: str | None,
    enforced: bool,
    set_by: UUID,
) -> LevelItem:
    """Stores an item (such as a secret or an MCP server) of the organisation or team `owner`, and returns the
    stored item. Replaces an existing item of the same kind and name.

    value: the part of the item that all members may read. encrypted: the encrypted part; None if there is
    none. enforced: True means that users cannot override the item by another item with the same name. If the
    owner is the organisation, teams cannot override it either. set_by: the user who saves the item. Raises
    Conflict `too_many_items` if the owner has 100 other items of this kind.
    """
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
        sealed_encrypted=encrypted,
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
    """Replaces the part of an item (such as an MCP server) that all members may read. The encrypted part of
    the item does not change. Does nothing if the organisation or team `owner` has no such item. value: the
    new content of the readable part.
    """
    this = LevelSetting.owner_id == owner.id, LevelSetting.name == _stored_name(kind, name)
    await session.execute(update(LevelSetting).where(*this).values(value=value))


async def delete_item(session: AsyncSession, owner: LevelOwner, kind: LevelItemKind, name: str) -> None:
    """Deletes an item (such as a secret or an MCP server) of the organisation or team `owner`. Raises
    NotFound `item_not_set` if there is no such item.
    """
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
        encrypted=row.sealed_encrypted,
    )


def _stored_name(kind: LevelItemKind, name: str) -> str:
    return f"{kind}:{name}"


def _is_of(*kinds: LevelItemKind) -> ColumnElement[bool]:
    """Returns the SQL condition that a row of the settings table (LevelSetting) contains an item of one of
    these kinds. Without kinds, the condition is that the row contains an item of any kind.
    """
    return or_(
        *(LevelSetting.name.startswith(f"{kind}:", autoescape=True) for kind in kinds or LevelItemKind)
    )
