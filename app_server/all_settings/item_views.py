"""Builds the lists of items of the organisation and of teams that members and administrators see. Items are
secrets, MCP servers, network rules and sandbox specs (images and plugins of new sandboxes).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.all_settings.item_schemas import AdministeredItem, GivenItem
from app_server.core.encryption import Cipher
from app_server.egress.models import EgressSetting
from app_server.levels.items import LevelItem, all_items, items_for
from app_server.levels.models import Level, LevelItemKind
from app_server.mcp_servers.in_effect import given_info
from app_server.mcp_servers.models import McpServer
from app_server.sandbox_records.models import SandboxSpec
from app_server.sandbox_specs.schemas import GivenSandboxSpec
from app_server.secrets.models import Secret
from app_server.teams.models import TeamMember
from app_server.users.models import User

_Key = tuple[LevelItemKind, str]

_TABLES: Mapping[LevelItemKind, type[Secret] | type[McpServer] | type[SandboxSpec]] = {
    LevelItemKind.SECRET: Secret,
    LevelItemKind.MCP_SERVER: McpServer,
    LevelItemKind.SANDBOX_SPEC: SandboxSpec,
}
"""The database tables of the items (secrets, MCP servers and sandbox specs) that people add for themselves,
by the kind of the item.
"""


async def given_items(session: AsyncSession, user_id: UUID) -> list[GivenItem]:
    """Returns the items that the organisation and the person's teams give to the person, sorted by kind and
    name. Items are secrets, MCP servers, network rules and sandbox specs (images and plugins of new
    sandboxes).
    """
    own = await _own(session, user_id)
    found = await items_for(session, user_id)
    return [
        GivenItem(
            kind=item.kind,
            name=item.name,
            description=_description(item),
            allows=_allows(item),
            sandbox_spec=_sandbox_spec(item),
            level=item.level_value.level,
            team_name=item.level_value.team_name,
            enforced=item.level_value.enforced,
            overridden_by=_stronger(items[:position], is_own=user_id in own.get(key, ()), item=item),
        )
        for key, items in sorted(found.items())
        for position, item in enumerate(items)
    ]


async def administered_items(
    session: AsyncSession, cipher: Cipher, organisation_id: UUID
) -> list[AdministeredItem]:
    """Returns the items of the organisation and of all its teams, as administrators see them. Items are
    secrets, MCP servers, network rules and sandbox specs (images and plugins of new sandboxes).

    An item of a team or of a person can apply in place of an item with the same name. For each item, the
    result names the teams, and gives the number of people, for which this is so.
    """
    return await _administered(session, cipher, organisation_id)


async def administered(
    session: AsyncSession, cipher: Cipher, organisation_id: UUID, item: LevelItem
) -> AdministeredItem:
    """Returns one item (a secret, MCP server, network rule or sandbox spec) of the organisation or a team in
    the form that administrators see.
    """
    shown = await _administered(session, cipher, organisation_id, only=item)
    return shown[0]


async def _administered(
    session: AsyncSession, cipher: Cipher, organisation_id: UUID, *, only: LevelItem | None = None
) -> list[AdministeredItem]:
    items = await all_items(session, organisation_id)
    of_organisation = User.organisation_id == organisation_id
    people = await session.execute(select(User.id, User.name).where(of_organisation))
    names = {row.id: row.name for row in people}
    own = {key: owners & names.keys() for key, owners in (await _own(session)).items()}
    members: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for team_id, user_id in await session.execute(select(TeamMember.team_id, TeamMember.user_id)):
        members[team_id].add(user_id)
    return [
        AdministeredItem(
            kind=item.kind,
            name=item.name,
            description=_description(item),
            allows=_allows(item),
            level=item.level_value.level,
            team_id=item.level_value.team_id,
            team_name=item.level_value.team_name,
            enforced=item.level_value.enforced,
            mcp_server=given_info(cipher, item) if item.kind is LevelItemKind.MCP_SERVER else None,
            sandbox_spec=_sandbox_spec(item),
            set_by=names.get(item.set_by) if item.set_by else None,
            updated_at=item.updated_at,
            overriding_teams=_overriding_teams(item, items),
            overriding_people=_overriding_people(item, own, members),
        )
        for item in items
        if only is None or item.id == only.id
    ]


def _overriding_teams(item: LevelItem, items: Iterable[LevelItem]) -> list[str]:
    if item.level_value.enforced or item.level_value.level is Level.TEAM:
        return []
    same = (other.level_value for other in items if (other.kind, other.name) == (item.kind, item.name))
    return sorted(value.team_name for value in same if value.team_name is not None)


def _overriding_people(
    item: LevelItem, own: dict[_Key, set[UUID]], members: defaultdict[UUID, set[UUID]]
) -> int:
    if item.level_value.enforced:
        return 0
    people = own.get((item.kind, item.name), set())
    team_id = item.level_value.team_id
    return len(people if team_id is None else people & members[team_id])


def _stronger(before: Sequence[LevelItem], *, is_own: bool, item: LevelItem) -> Level | None:
    """Returns the level (user, team or organisation) of the item that applies to a person in place of `item`.
    Returns None if `item` itself applies.

    `before`: the items of the same kind and name, of teams or the organisation, that have priority over
    `item`. `is_own`: whether the person has added an item of this kind and name. The person's item has
    priority over items that are not enforced.
    """
    enforced = next((other for other in before if other.level_value.enforced), None)
    if enforced is not None:
        return enforced.level_value.level
    if is_own and not item.level_value.enforced:
        return Level.USER
    return before[0].level_value.level if before else None


async def _own(session: AsyncSession, user_id: UUID | None = None) -> dict[_Key, set[UUID]]:
    """Finds the items that people have added for themselves: secrets, MCP servers, network rules and sandbox
    specs. For each kind and name, returns the ids of the people who have such an item.

    `user_id`: finds only the items of this person; None finds the items of all people.
    """
    found: defaultdict[_Key, set[UUID]] = defaultdict(set)
    for kind, table in _TABLES.items():
        query = select(table.name, table.user_id)
        if user_id is not None:
            query = query.where(table.user_id == user_id)
        for name, person in await session.execute(query):
            found[kind, name].add(person)
    hosts = select(EgressSetting.hosts, EgressSetting.user_id)
    if user_id is not None:
        hosts = hosts.where(EgressSetting.user_id == user_id)
    for rules, person in await session.execute(hosts):
        for rule in rules:
            found[LevelItemKind.EGRESS_RULE, rule].add(person)
    return found


def _allows(item: LevelItem) -> bool | None:
    allows: bool | None = item.level_value.value.get("allows")
    return allows


def _sandbox_spec(item: LevelItem) -> GivenSandboxSpec | None:
    if item.kind is not LevelItemKind.SANDBOX_SPEC:
        return None
    return GivenSandboxSpec.model_validate(item.level_value.value)


def _description(item: LevelItem) -> str | None:
    description: str | None = item.level_value.value.get("description")
    return description
