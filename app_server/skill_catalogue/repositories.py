"""Reads the skills in registered marketplaces, which are git repositories, and stores the skills that were
found.
"""

import asyncio
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import and_, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Database
from app_server.http.guarded_client import Guard
from app_server.marketplaces import service as marketplaces
from app_server.marketplaces.fetching import read_files
from app_server.marketplaces.index import UnreadableMarketplace
from app_server.marketplaces.schemas import Marketplace, MarketplaceRegistration, MarketplaceScope
from app_server.marketplaces.skill_folders import SkillFolders, skill_folders
from app_server.settings.models import UserSettings
from app_server.skill_catalogue.schemas import SkillRepositoryInfo
from app_server.skills.models import SkillRepository

AT_ONCE = 4


@dataclass(frozen=True)
class Read:
    """The result of reading the repository of a marketplace: the skills that the repository contains at one
    commit.
    """

    commit: str
    folders: SkillFolders


@dataclass(frozen=True)
class KnownRepository:
    """A registered marketplace, with the skills that were found when its repository was read last.
    `last_read`: None if the repository was not read since the marketplace was registered or changed.
    """

    registration: MarketplaceRegistration
    last_read: SkillRepository | None

    @property
    def info(self) -> SkillRepositoryInfo:
        registration, found = self.registration, self.last_read
        assert registration.scope is not None
        info = SkillRepositoryInfo(marketplace=registration.name, scope=registration.scope)
        if found is None:
            return info
        return info.model_copy(
            update={
                "commit": found.commit_id,
                "read_at": found.read_at,
                "skill_count": len(found.skills),
                "problems": found.problems,
            }
        )


async def read_repository(marketplace: Marketplace, guard: Guard | None) -> Read:
    """Fetches the repository of a marketplace and returns the skills that it contains now.

    guard: checks that the repository's host is not in the server's private network; None allows every host.
    Raises UnreadableMarketplace if the repository cannot be fetched or read.
    """
    files = await read_files(marketplace, guard)
    return Read(files.commit, await asyncio.to_thread(skill_folders, files))


async def known_repositories(session: AsyncSession, user_id: UUID) -> list[KnownRepository]:
    """Returns the marketplaces that are shared with all users and the marketplaces that the user has
    registered. Each comes with the skills that were found when its repository was read the last time.

    If a marketplace of the user has the same name as a shared one, only the user's marketplace is returned.
    """
    by_name = {each.name: each for each in await marketplaces.shared(session)}
    by_name |= {each.name: each for each in marketplaces.own(await session.get(UserSettings, user_id))}
    mine = or_(SkillRepository.user_id == user_id, SkillRepository.user_id.is_(None))
    rows = (await session.scalars(select(SkillRepository).where(mine))).all()
    found = {(row.user_id, row.marketplace): row for row in rows}
    return [
        KnownRepository(each, _current(found.get((_user_of(each, user_id), each.name)), each))
        for each in by_name.values()
    ]


async def read_all(database: Database, user_id: UUID, guard: Guard | None) -> None:
    """Fetches all marketplaces that the user can use, and stores the skills that they contain now. If a
    marketplace cannot be read, stores the reason instead.

    guard: checks that the hosts of the user's own marketplaces are not in the server's private network; None
    allows every host. Marketplaces that are shared with all users may be on every host, because only
    administrators of the installation register them. So the result of such a marketplace is the same for each
    user who reads it.
    """
    async with database.read() as session:
        wanted = [each.registration for each in await known_repositories(session, user_id)]
    room = asyncio.Semaphore(AT_ONCE)

    async def read(registration: MarketplaceRegistration) -> SkillRepository:
        async with room:
            row = SkillRepository(
                user_id=_user_of(registration, user_id),
                marketplace=registration.name,
                place=_location(registration),
                skills=[],
            )
            try:
                is_shared = row.user_id is None
                found = await read_repository(registration.without_scope(), None if is_shared else guard)
            except UnreadableMarketplace as error:
                row.problems = [str(error)]
                return row
            # Without the texts, which would take much memory together.
            row.skills = [
                {"name": one.name, "description": one.description, "path": one.path}
                for one in found.folders.skills
            ]
            row.commit_id, row.problems = found.commit, list(found.folders.problems)
            return row

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(each)) for each in wanted]
    shared = [each.name for each in wanted if _user_of(each, user_id) is None]
    of_everyone = and_(SkillRepository.user_id.is_(None), SkillRepository.marketplace.in_(shared))
    async with database.session() as session:
        await session.execute(
            delete(SkillRepository).where(or_(SkillRepository.user_id == user_id, of_everyone))
        )
        session.add_all(task.result() for task in tasks)


def _user_of(registration: MarketplaceRegistration, user_id: UUID) -> UUID | None:
    return None if registration.scope is MarketplaceScope.INSTANCE else user_id


def _location(registration: Marketplace) -> dict[str, str | None]:
    return {"source": registration.source, "ref": registration.ref, "repo_path": registration.repo_path}


def _current(row: SkillRepository | None, registration: Marketplace) -> SkillRepository | None:
    """Returns `row`, the stored skills of a marketplace, if they are not outdated. They are outdated if the
    marketplace's Git repository, Git ref or path was changed after the skills were read; then returns None.
    Also returns None if `row` is None, because no skills are stored.

    `registration`: the marketplace as it is registered now.
    """
    return row if row is not None and row.place == _location(registration) else None
