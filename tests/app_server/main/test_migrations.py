import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, column, insert, inspect, select, table
from sqlalchemy.ext.asyncio import AsyncSession

import app_server.main  # noqa: F401 (imports every table)
from app_server.conversations.log.message_texts import with_words
from app_server.conversations.models import Conversation
from app_server.core.database import Base, Database, now
from app_server.core.migrations import MIGRATIONS, alembic_config, is_current, migrate, newest_revision
from app_server.events import matches
from app_server.events.log import EventFilter
from app_server.events.models import StoredEvent
from app_server.settings.models import LLMProfile
from app_server.teams.models import Team, TeamMember
from app_server.teams.repositories.models import TeamRepository
from app_server.users.models import ApiKey, Role, User
from app_server.users.organisations import find_organisation


async def test_migrating_leads_to_the_tables_of_the_models(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        assert await is_current(database)
        async with database.engine.begin() as connection:
            differences = await connection.run_sync(_differences)
        assert differences == []
    finally:
        await database.close()


async def test_migrations_can_be_taken_back(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        async with database.engine.begin() as connection:
            await connection.run_sync(lambda each: command.downgrade(alembic_config(each), "base"))
            tables = await connection.run_sync(lambda each: inspect(each).get_table_names())
        assert tables == ["alembic_version"]
        await migrate(database)
        assert await is_current(database)
    finally:
        await database.close()


async def test_servers_that_start_at_once_migrate_once(empty_database_url: str) -> None:
    databases = [Database(empty_database_url) for _ in range(3)]
    try:
        await asyncio.gather(*(migrate(database) for database in databases))
        assert await is_current(databases[0])
    finally:
        for database in databases:
            await database.close()


async def test_messages_from_before_the_search_are_found(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        async with database.engine.begin() as connection:
            await connection.run_sync(
                lambda each: command.downgrade(alembic_config(each), "add_pull_requests")
            )
        content = [{"type": "text", "text": "Repair the crane."}]
        said: dict[str, Any] = {"kind": "MessageEvent", "source": "user", "llm_message": {"content": content}}
        async with database.session() as session:
            user_id, conversation_id = uuid4(), uuid4()
            own: dict[str, Any] = {"id": conversation_id, "user_id": user_id, "sandbox_id": conversation_id}
            own |= {"llm_profile": "demo", "last_seq": 0, "created_at": now(), "updated_at": now()}
            person = {"id": user_id, "name": "Ada", "role": Role.MEMBER, "created_at": now()}
            rows: list[tuple[type[Any], dict[str, Any]]] = [(User, person), (Conversation, own)]
            for seq, body in enumerate((said, {"kind": "ActionEvent", "tool_name": "MessageEvent"}), 1):
                place = {"conversation_id": conversation_id, "seq": seq, "event_id": f"event-{seq}"}
                kind = {"kind": body["kind"], "source": "user", "timestamp": now()}
                rows.append((StoredEvent, {**place, **kind, "body": json.dumps(body)}))
            for model, values in rows:
                # Names only these columns, because later migrations add others, also with defaults.
                types = model.__table__.c
                columns = (column(name, types[name].type) for name in values)
                await session.execute(insert(table(model.__tablename__, *columns)).values(values))
        await migrate(database)
        wanted = with_words("repair cran", database.engine.dialect.name)
        assert wanted is not None
        async with database.read() as session:
            assert list(await session.scalars(wanted)) == [conversation_id]
            assert await matches.count(session, conversation_id, "repair cran", EventFilter()) == 1
    finally:
        await database.close()


@pytest.mark.both_databases
async def test_people_teams_and_keys_of_before_are_in_the_default_organisation(
    empty_database_url: str,
) -> None:
    database = Database(empty_database_url)
    try:
        await migrate(database)
        await _step(database, "add_team_repositories")
        ada, key, team, profile = uuid4(), uuid4(), uuid4(), uuid4()
        async with database.session() as session:
            person = {"id": ada, "name": "Ada", "role": Role.ADMIN, "created_at": now()}
            await _insert(session, User, **person)
            of_ada = {"user_id": ada, "name": "x", "prefix": "x", "key_hash": "x", "created_at": now()}
            await _insert(session, ApiKey, id=key, scopes=["read", "administer"], **of_ada)
            await _insert(session, Team, id=team, name="Core", name_key="core", created_at=now())
            await _insert(session, TeamMember, team_id=team, user_id=ada, created_at=now())
            entry = {"key": "github.com/acme/shop", "name": "github.com/acme/shop", "created_at": now()}
            await _insert(session, TeamRepository, team_id=team, **entry)
            shared = {"id": profile, "user_id": ada, "name": "fast", "model": "x", "is_active": False}
            shared |= {"is_shared": True, "created_at": now(), "updated_at": now()}
            await _insert(session, LLMProfile, **shared)
        await migrate(database)
        async with database.read() as session:
            found = await session.get_one(User, ada)
            assert found.administers_installation
            assert (await session.get_one(Team, team)).organisation_id == found.organisation_id
            assert (await session.get_one(LLMProfile, profile)).shared_in == found.organisation_id
            assert (await session.get_one(ApiKey, key)).scopes == ["read", "administer", "installation"]
            assert await session.get(TeamMember, (team, ada)) is not None
            place = (found.organisation_id, "github.com/acme/shop")
            assert (await session.get_one(TeamRepository, place)).team_id == team
            assert (await find_organisation(session, found.organisation_id)).is_default
        await _step(database, "add_team_repositories")
        async with database.read() as session:
            keys = table("api_keys", column("scopes", ApiKey.__table__.c.scopes.type))
            assert (await session.execute(select(keys))).all() == [(["read", "administer"],)]
            members = table("team_members", column("team_id"))
            assert len((await session.execute(select(members))).all()) == 1
    finally:
        await database.close()


async def _step(database: Database, revision: str) -> None:
    async with database.engine.begin() as connection:
        await connection.run_sync(lambda each: command.downgrade(alembic_config(each), revision))


async def _insert(session: AsyncSession, model: type[Base], /, **values: object) -> None:
    # Names only these columns, because the table can have others at another revision.
    types = model.__table__.c
    columns = [column(name, types[name].type if name in types else None) for name in values]
    await session.execute(insert(table(model.__tablename__, *columns)).values(values))


def test_the_newest_file_is_the_last_revision() -> None:
    files = sorted((MIGRATIONS / "versions").glob("*.py"))
    text = files[-1].read_text()
    assert f'revision = "{newest_revision()}"' in text


def _is_of_models(name: str | None, kind: str, _parents: object) -> bool:
    # The word indexes of messages and of events are not part of the models: virtual tables of SQLite with
    # their inner tables, and an index of PostgreSQL.
    own = ("message_texts_words", "event_words_index", "ix_event_words_words")
    return kind not in {"table", "index"} or not (name or "").startswith(("ix_message_texts_words", *own))


def _differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(
        connection, opts={"compare_type": True, "include_name": _is_of_models}
    )
    return list(compare_metadata(context, Base.metadata))
