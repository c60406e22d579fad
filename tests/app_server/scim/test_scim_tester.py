"""Runs `scim2-tester` against the app server's SCIM routes. It tests every attribute of every resource."""

import asyncio
from typing import Any

from app_server.scim.router import PREFIX
from app_server.users.models import User
from app_server.users.service import create_api_key
from tests.app_server.conftest import App, listening


async def test_the_judge_of_the_protocol_finds_no_error(app: App, owner: User) -> None:
    # Imported here, because these packages read the sources of all loaded modules. At the top of the file
    # they would take a third of the time in which tests are collected.
    from httpx2 import Client
    from scim2_client.engines.httpx2 import SyncSCIMClient
    from scim2_tester import Status, check_server

    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="provider")
    async with listening(app.public) as url:

        def judge() -> list[Any]:
            headers = {"Authorization": f"Bearer {key}"}
            with Client(base_url=f"{url}{PREFIX}", headers=headers) as http:
                scim = SyncSCIMClient(http)
                scim.discover()
                return check_server(scim)

        results = await asyncio.to_thread(judge)
    failed = [f"{one.title}: {one.reason}" for one in results if one.status is not Status.SUCCESS]
    assert len(results) > 50
    assert failed == []
