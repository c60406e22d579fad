"""Tests of the audit log's hash chain: `verify` finds each entry that was changed or removed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import delete, select, text, update

from app_server.audit.actions import ActorMeans, AuditAction, AuditTarget
from app_server.audit.chain import SERVER, Actor, NewEntry, hash_of, record
from app_server.audit.models import AuditEntry, AuditHead
from app_server.audit.retention import trim
from app_server.audit.verification import ChainMark, Verification, verify
from app_server.core.database import Database, now

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    yield database
    await database.close()


async def write(database: Database, name: str = "x") -> None:
    actor = Actor(ActorMeans.KEY, uuid4(), "Ada", uuid4(), "192.0.2.1")
    async with database.session() as session:
        details = {"name": name, "at": now(), "ids": {"b", "a"}, "limit": 1.5, "empty": None}
        target = (AuditTarget.SECRET, name)
        record(session, NewEntry(actor, AuditAction.SECRET_CREATED, *target, details=details))


async def checked(database: Database, known: ChainMark | None = None) -> Verification:
    async with database.read() as session:
        return await verify(session, known)


async def test_two_servers_that_write_at_once_make_one_chain(database: Database, database_url: str) -> None:
    other = Database(database_url)
    await asyncio.gather(*(write(each, f"{n}") for n in range(15) for each in (database, other)))
    await other.close()
    found = await checked(database)
    assert (found.entries, found.head.id, found.problem) == (30, 30, None)


async def test_an_entry_is_written_with_its_change_or_not_at_all(database: Database) -> None:
    async with database.session() as session:
        record(session, NewEntry(SERVER, AuditAction.SIGN_OUT))
        await session.rollback()
    async with database.session() as session:
        record(session, NewEntry(SERVER, AuditAction.KEY_CREATED))
        async with session.begin_nested():  # the end of a nested transaction commits nothing
            await session.execute(text("SELECT 1"))
        await (await session.begin_nested()).rollback()
    async with database.read() as session:
        [entry] = await session.scalars(select(AuditEntry))
    assert (entry.id, entry.action) == (1, AuditAction.KEY_CREATED)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (update(AuditEntry).where(AuditEntry.id == 2).values(actor_name="Eve"), "Entry 2 was changed"),
        (update(AuditEntry).where(AuditEntry.id == 3).values(details={}), "Entry 3 was changed"),
        (text("UPDATE audit_entries SET action = 'no.word' WHERE id = 3"), "cannot be read"),
        (delete(AuditEntry).where(AuditEntry.id == 2), "missing between 1 and 3"),
        (delete(AuditEntry).where(AuditEntry.id == 4), "newest entries are missing"),
        (delete(AuditHead), "head of the chain is missing"),
    ],
)
async def test_a_changed_or_removed_entry_is_found(database: Database, change: object, problem: str) -> None:
    for name in "abcd":
        await write(database, name)
    assert (await checked(database)).problem is None
    async with database.session() as session:
        await session.execute(change)  # type: ignore[call-overload]
    assert problem in str((await checked(database)).problem)


async def test_a_chain_written_anew_as_a_whole_is_found_by_an_entry_noted_elsewhere(
    database: Database,
) -> None:
    await write(database)
    await write(database)
    noted = (await checked(database)).head
    await write(database)
    assert (await checked(database, noted)).problem is None

    async with database.session() as session:
        rows = (await session.execute(select(AuditEntry.__table__).order_by(AuditEntry.id))).mappings().all()
        previous = rows[0]["previous_hash"]
        for row in rows:
            new = {**row, "actor_name": "Eve", "previous_hash": previous}
            previous = new["hash"] = hash_of(new)
            await session.execute(update(AuditEntry).where(AuditEntry.id == row["id"]).values(new))
        await session.execute(update(AuditHead).values(last_hash=previous))
    assert (await checked(database)).problem is None
    assert (await checked(database, noted)).problem == "Entry 2 differs from the one that you named."
    assert "is missing" in str((await checked(database, ChainMark(9, "0"))).problem)


async def test_what_is_cut_for_its_age_leaves_an_anchor(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as past:
        past.setattr("app_server.audit.chain.now", lambda: now() - timedelta(days=40))
        for name in "abc":
            await write(database, name)
    await write(database, "new")

    await trim(database, 0)
    assert (await checked(database)).entries == 4
    await trim(database, 30)
    await trim(database, 30)  # the second call finds nothing more to delete
    found = await checked(database)
    assert (found.entries, found.anchor.id, found.head.id, found.problem) == (2, 3, 5, None)
    async with database.read() as session:
        cut = await session.get_one(AuditEntry, 5)
    assert cut.action is AuditAction.AUDIT_LOG_TRIMMED
    assert cut.details == {"entries": 3, "up_to": 3, "hash": found.anchor.hash}

    async with database.session() as session:
        moved = await session.get_one(AuditEntry, 4)
        await session.execute(update(AuditHead).values(anchor_id=4, anchor_hash=moved.hash))
        await session.delete(moved)
    assert "no entry records this removal" in str((await checked(database)).problem)


async def test_texts_are_bounded(database: Database) -> None:
    await write(database, "n" * 1000)
    async with database.read() as session:
        entry = await session.get_one(AuditEntry, 1)
    assert (len(entry.target_id or ""), len(entry.details["name"])) == (300, 300)
    assert (entry.details["ids"], entry.details["limit"], "empty" in entry.details) == (
        ["a", "b"],
        1.5,
        False,
    )
    assert (await checked(database)).problem is None
