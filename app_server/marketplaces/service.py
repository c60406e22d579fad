"""Stores and lists registered marketplaces, and fetches the plugins and skills of several marketplaces at
once. A marketplace is a git repository that lists plugins and skills.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.http.guarded_client import Guard
from app_server.marketplaces.fetching import read_contents
from app_server.marketplaces.index import MarketplaceContents, MarketplacePlugin, UnreadableMarketplace
from app_server.marketplaces.models import SharedMarketplace
from app_server.marketplaces.schemas import (
    Marketplace,
    MarketplacePluginPreview,
    MarketplaceRegistration,
    MarketplaceScope,
    MarketplaceSkillsPreviewResponse,
)
from app_server.settings.models import UserSettings
from app_server.skills.catalogue import listed
from app_server.skills.files import SkillFile

AT_ONCE = 4


async def shared(session: AsyncSession) -> list[MarketplaceRegistration]:
    """Returns the marketplaces that an administrator has registered for all users of this installation."""
    rows = await session.scalars(select(SharedMarketplace).order_by(SharedMarketplace.position))
    return [
        MarketplaceRegistration(
            name=row.name,
            source=row.source,
            ref=row.ref,
            repo_path=row.repo_path,
            auto_load=row.auto_load,
            scope=MarketplaceScope.INSTANCE,
        )
        for row in rows
    ]


async def share(session: AsyncSession, wanted: Iterable[MarketplaceRegistration]) -> None:
    """Replaces the list of marketplaces that are registered for all users of this installation. The
    marketplaces that users have registered only for their conversations do not change.
    """
    await session.execute(delete(SharedMarketplace))
    session.add_all(
        SharedMarketplace(position=position, **each.without_scope().model_dump())
        for position, each in enumerate(wanted)
    )
    await session.flush()


def own(settings: UserSettings | None) -> list[MarketplaceRegistration]:
    """Returns the marketplaces that one user has registered in their settings. `settings`: None if the user
    has not stored any settings; then the list is empty.
    """
    stored = settings.registered_marketplaces if settings else []
    return [
        MarketplaceRegistration(**each, scope=MarketplaceScope.PERSONAL)
        for each in (Marketplace.model_validate(data).model_dump() for data in stored or [])
    ]


def stored(wanted: Iterable[MarketplaceRegistration]) -> list[dict[str, object]]:
    """Converts marketplaces to the dictionaries that are stored in a user's settings. Leaves out `scope`,
    because all marketplaces in a user's settings have the scope `personal`.
    """
    return [each.without_scope().model_dump() for each in wanted]


@dataclass(frozen=True)
class Loaded:
    """All plugins and skills that a new conversation gets from marketplaces.

    `problems`: for each marketplace, plugin or skill that cannot be used, a sentence that says why.
    """

    plugins: tuple[MarketplacePlugin, ...] = ()
    skills: tuple[SkillFile, ...] = ()
    problems: tuple[str, ...] = ()


async def loaded_by_default(session: AsyncSession, user_id: UUID) -> list[Marketplace]:
    """Returns the marketplaces whose plugins and skills every new conversation of this user gets: those with
    `auto_load`.

    These are marketplaces that an administrator has registered for all users, and marketplaces that this user
    has registered. If a user's marketplace and a shared one have the same name, the shared one is ignored.
    """
    by_name = {each.name: each for each in await shared(session)}
    by_name |= {each.name: each for each in own(await session.get(UserSettings, user_id))}
    return [each for each in by_name.values() if each.auto_load]


async def load(marketplaces: Sequence[Marketplace], guard: Guard | None) -> Loaded:
    """Fetches the marketplaces and returns all their plugins and skills. If a marketplace cannot be read, the
    field `problems` of the returned object says why.

    guard: refuses to fetch from hosts in the server's private network; None means that every host is allowed.
    """
    plugins: list[MarketplacePlugin] = []
    skills: list[SkillFile] = []
    problems: list[str] = []
    for marketplace, contents in zip(marketplaces, await _read_all(marketplaces, guard), strict=True):
        if isinstance(contents, UnreadableMarketplace):
            problems.append(f"{marketplace.name}: {contents}")
            continue
        plugins += contents.plugins
        skills += contents.skills
        problems += contents.problems
    return Loaded(tuple(plugins), tuple(skills), tuple(problems))


async def preview(
    marketplaces: Sequence[Marketplace], guard: Guard | None
) -> MarketplaceSkillsPreviewResponse:
    """Fetches the marketplaces and returns the plugins and skills that they list now, as the reply of the
    preview route. If a marketplace cannot be read, `errors` in the returned object contains a sentence with
    the reason.

    guard: refuses to fetch from hosts in the server's private network; None means that every host is allowed.
    """
    found = MarketplaceSkillsPreviewResponse(skills=[], plugins=[], marketplace_skills={}, errors=[])
    for marketplace, contents in zip(marketplaces, await _read_all(marketplaces, guard), strict=True):
        if isinstance(contents, UnreadableMarketplace):
            found.errors.append(f"{marketplace.name}: {contents}")
            continue
        skills = listed(contents.skills)
        found.skills += skills
        found.marketplace_skills[marketplace.name] = [skill.name for skill in skills]
        found.errors += contents.problems
        found.plugins += [_plugin_preview(marketplace, plugin) for plugin in contents.plugins]
    return found


def _plugin_preview(marketplace: Marketplace, plugin: MarketplacePlugin) -> MarketplacePluginPreview:
    source = f"{plugin.source}/{plugin.repo_path}" if plugin.repo_path else plugin.source
    return MarketplacePluginPreview(
        name=plugin.name, description=plugin.description, source=source, marketplace=marketplace.name
    )


async def _read_all(
    marketplaces: Sequence[Marketplace], guard: Guard | None
) -> list[MarketplaceContents | UnreadableMarketplace]:
    room = asyncio.Semaphore(AT_ONCE)

    async def read(marketplace: Marketplace) -> MarketplaceContents | UnreadableMarketplace:
        async with room:
            try:
                return await read_contents(marketplace, guard)
            except UnreadableMarketplace as error:
                return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(each)) for each in marketplaces]
    return [task.result() for task in tasks]
