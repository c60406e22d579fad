"""Tests of the conversation list with many conversations: own and shared ones are in one order over all
pages, and the query uses an index.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx
from sqlalchemy import event

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.sharing.models import ShareRole
from app_server.users.models import Role, User
from app_server.users.service import create_user
from tests.app_server.conftest import App

PATH = "/api/v1/app-conversations/search"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def conversation(user_id: UUID, minute: int, role: ShareRole | None = None) -> list[object]:
    id_, moment = uuid4(), BEGIN + timedelta(minutes=minute)
    return [
        Conversation(
            id=id_,
            user_id=user_id,
            llm_profile="demo",
            last_seq=0,
            title=f"Task {minute}",
            created_at=moment,
            everyone_role=role,
        ),
        StartTask(id=id_, user_id=user_id, sandbox_id=id_, status=StartStatus.READY, request={}, stages=[]),
    ]


async def test_own_and_shared_conversations_stand_in_one_order_over_pages_and_come_by_the_index(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    async with app.database.session() as session:
        other = (await create_user(session, name="Other", role=Role.MEMBER)).id
        for minute in range(30):
            owner_id, role = (owner.id, None) if minute % 3 else (other, ShareRole.VIEW)
            session.add_all(conversation(owner_id, minute, role))
            session.add_all(conversation(other, minute))
    await app.state["start_worker"].close()

    titles: list[str] = []
    page_id = None
    while True:
        params = {"limit": 7, **({"page_id": page_id} if page_id else {})}
        page = (await client.get(PATH, params=params)).raise_for_status().json()
        titles += [one["title"] for one in page["items"]]
        page_id = page["next_page_id"]
        if page_id is None:
            break

    assert titles == [f"Task {minute}" for minute in reversed(range(30))]
    if app.config.database_file:
        assert "ix_conversations_user_id_created_at_id" in await plan_of_list(app, client)


async def plan_of_list(app: App, client: httpx.AsyncClient) -> str:
    seen: list[tuple[str, object]] = []
    async with app.database.read() as session:
        connection = await session.connection()
        engine = connection.engine.sync_engine

        def remember(
            _connection: object, _cursor: object, statement: str, parameters: object, *_: object
        ) -> None:
            seen.append((statement, parameters))

        event.listen(engine, "before_cursor_execute", remember)
        try:
            (await client.get(PATH)).raise_for_status()
        finally:
            event.remove(engine, "before_cursor_execute", remember)
        statement, parameters = next(
            each for each in seen if "UNION ALL" in each[0] and "start_tasks" in each[0]
        )
        rows = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return "\n".join(row[3] for row in rows)
