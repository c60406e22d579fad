"""Tests of hundreds of requests that one sandbox sends at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.database import Database
from app_server.sandboxes.auth import LOOKED_UP_AT_ONCE, authenticate_patiently
from tests.app_server.conftest import App

REQUESTS = 200


class Counted:
    """A database that counts its sessions. open: the number of open sessions. most: the highest number so
    far.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.open = self.most = 0

    @asynccontextmanager
    async def brief_read(self) -> AsyncIterator[AsyncSession]:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            async with self._database.brief_read() as session:
                yield session
        finally:
            self.open -= 1


async def test_requests_of_one_sandbox_are_looked_up_a_few_at_a_time(app: App) -> None:
    counted = Counted(app.database)
    database = cast(Database, counted)
    flood = [asyncio.create_task(authenticate_patiently(database, "one key")) for _ in range(REQUESTS)]
    assert await authenticate_patiently(database, "another key") is None
    assert not all(task.done() for task in flood), "another sandbox does not wait for all of them"
    assert await asyncio.gather(*flood) == [None] * REQUESTS
    assert counted.most <= LOOKED_UP_AT_ONCE + 1
