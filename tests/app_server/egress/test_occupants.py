"""Tests of the conversations that are shown with a refused call or with a use of a credential, if several
conversations share the sandbox.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import update

from app_server.conversations.models import Conversation
from app_server.core.database import now
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.egress.conftest import WayOut
from tests.app_server.egress.test_answers import SETTINGS
from tests.app_server.egress.test_credentials import HOST, ROUTE, curl, give
from tests.support.outside import says

pytestmark = pytest.mark.low_ports


async def work_there_too(
    app: App, owner: User, way_out: WayOut, title: str | None, hours: int = 0, *, is_deleted: bool = False
) -> str:
    """Stores another conversation in the same sandbox. Returns its id.

    hours: when it began, in hours from now. A negative number means in the past.
    """
    begun, conversation_id = now() + timedelta(hours=hours), uuid4()
    async with app.database.session() as session:
        session.add(
            Conversation(
                id=conversation_id,
                user_id=owner.id,
                sandbox_id=way_out.sandbox_id,
                title=title,
                llm_profile="demo",
                created_at=begun,
                deleted_at=begun if is_deleted else None,
            )
        )
    return conversation_id.hex


async def shown(client: httpx.AsyncClient, route: str) -> list[dict[str, Any]]:
    [item] = (await client.get(route)).raise_for_status().json()["items"]
    found: list[dict[str, Any]] = item["conversations"]
    return found


async def test_all_that_were_there_may_have_tried_it(
    way_out: WayOut, client: httpx.AsyncClient, app: App, owner: User
) -> None:
    named = await work_there_too(app, owner, way_out, "Mend the crane", -2)
    untitled = await work_there_too(app, owner, way_out, None, -1)
    await work_there_too(app, owner, way_out, "Deleted", -3, is_deleted=True)
    await work_there_too(app, owner, way_out, "Came later", 1)
    given = await give(client)
    async with way_out.site(HOST, says("hello")):
        await curl(way_out, f"https://{HOST}/a")

    expected = [
        {"id": named, "title": "Mend the crane"},
        {"id": untitled, "title": None},
        {"id": way_out.sandbox_id.hex, "title": None},
    ]
    assert await shown(client, f"{SETTINGS}/records") == expected
    assert await shown(client, f"{ROUTE}/{given['id']}/uses") == expected


async def test_the_conversation_that_the_sandbox_was_made_for_may_be_gone(
    way_out: WayOut, client: httpx.AsyncClient, app: App, owner: User
) -> None:
    joined = await work_there_too(app, owner, way_out, "Paint the crane", -1)
    await way_out.curl("http://wanted.test/")
    first = Conversation.id == way_out.sandbox_id
    async with app.database.session() as session:
        await session.execute(update(Conversation).where(first).values(deleted_at=now()))

    assert await shown(client, f"{SETTINGS}/records") == [{"id": joined, "title": "Paint the crane"}]
