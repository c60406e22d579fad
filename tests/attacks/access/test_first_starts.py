"""Tests of several app servers that start for the first time on the same database at the same moment."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import select

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.migrations import migrate
from app_server.lifespan import lifespan
from app_server.settings.models import LLMProfile
from app_server.users.models import Role, User

STARTS = 6


async def test_first_starts_at_once_make_one_owner(tmp_path: Path, database_url: str) -> None:
    database = Database(database_url)
    # The migration is done before the starts. Otherwise the servers wait for each other there and start one
    # by one.
    await migrate(database)
    homes = [tmp_path / f"home-{number}" for number in range(STARTS)]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)

        async def start(home: Path) -> None:
            config = Config(home=home, database_url=SecretStr(database_url), sandbox="process")
            await stack.enter_async_context(lifespan(config))

        await asyncio.gather(*(start(home) for home in homes))
        async with database.read() as session:
            users = (await session.scalars(select(User))).all()
            profiles = (await session.scalars(select(LLMProfile))).all()
        assert [user.role for user in users] == [Role.OWNER]
        assert {profile.user_id for profile in profiles} == {users[0].id}
