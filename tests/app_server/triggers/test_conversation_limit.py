"""Tests of the limit on a repository's active conversations: which conversations count, and in which order
waiting deliveries continue.
"""

from uuid import UUID

import pytest
from sqlalchemy import update

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.sandbox_records.models import SandboxStatus
from app_server.triggers import conversation_limit
from app_server.triggers.models import Trigger
from tests.app_server.triggers.conftest import Hooked
from tests.app_server.triggers.test_handling import labelled


async def active(hooked: Hooked) -> int:
    async with hooked.app.database.read() as session:
        trigger = await session.get_one(Trigger, UUID(hooked.trigger["id"]))
        return await conversation_limit.at_work(session, trigger)


@pytest.mark.both_databases
async def test_an_agent_counts_only_while_it_starts_or_its_sandbox_is_up(hooked: Hooked) -> None:
    await hooked.send("issues", labelled())
    (delivery,) = await hooked.deliveries()
    conversation_id = UUID(delivery["conversation_id"])
    assert await active(hooked) == 1, "its start is under way"
    async with hooked.app.database.session() as session:
        await session.execute(update(StartTask).values(status=StartStatus.READY))
        await session.execute(update(Conversation).values(execution_status="running"))
        owner_id = (await session.get_one(Conversation, conversation_id)).user_id
        sandboxes = hooked.app.state["sandboxes"]
        sandbox = await sandboxes.create(session, sandbox_id=conversation_id, user_id=owner_id)
    counted = {}
    for status in SandboxStatus:
        async with hooked.app.database.session() as session:
            (await session.merge(sandbox)).status = status
        counted[status] = await active(hooked)
    assert {status for status, count in counted.items() if count} == {
        SandboxStatus.STARTING,
        SandboxStatus.RUNNING,
    }
    async with hooked.app.database.session() as session:
        await session.delete(await session.merge(sandbox))
    assert await active(hooked) == 0, "its sandbox was deleted"
