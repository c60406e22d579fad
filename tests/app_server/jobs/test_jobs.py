"""Tests of jobs: one worker does each stored job, repeats it after a failure, and administrators see the
jobs that fail.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import make_url, text, update

from app_server.core.database import Database, now
from app_server.core.jobs import queue, worker
from app_server.core.jobs.models import LONG_AGO, Job, JobState
from app_server.core.jobs.policy import GiveUp, JobAttempt, RetryPolicy
from app_server.core.jobs.queue import enqueue
from app_server.core.jobs.worker import Jobs
from app_server.core.pubsub import LocalPubSub
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.app_server.tables import create_tables
from tests.support.databases import POSTGRES
from tests.support.outage_proxy import OutageProxy

QUICK = RetryPolicy(attempts=3, first_pause=timedelta(milliseconds=1), timeout=timedelta(seconds=30))

_END_FIELDS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
END_BY_ADMINISTRATOR = b"E" + (4 + len(_END_FIELDS)).to_bytes(4, "big") + _END_FIELDS
"""The ErrorResponse message with which PostgreSQL ends a connection
(https://www.postgresql.org/docs/current/protocol-message-formats.html).
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url)
    await create_tables(database)
    yield database
    await database.close()


@pytest.fixture(autouse=True)
def no_safety_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the interval very long at which workers search the database for missed jobs. So a worker must
    have been notified of each job that is done here.
    """
    monkeypatch.setattr(worker, "SAFETY_SECONDS", 3600.0)


async def add(database: Database, kind: str = "work", **options: Any) -> UUID:
    async with database.session() as session:
        return await enqueue(session, kind, {"number": 1}, **options)


async def job_of(database: Database, job_id: UUID) -> Job:
    async with database.read() as session:
        return await session.get_one(Job, job_id)


async def reaches(database: Database, job_id: UUID, state: JobState) -> Job:
    async def is_there() -> bool:
        return (await job_of(database, job_id)).state is state

    await eventually(is_there)
    return await job_of(database, job_id)


@pytest.mark.both_databases
async def test_two_servers_do_each_job_once_and_one_at_a_time_for_a_key(database: Database) -> None:
    done: list[UUID] = []
    busy: set[str | None] = set()

    async def work(attempt: JobAttempt) -> None:
        assert attempt.key is None or attempt.key not in busy
        busy.add(attempt.key)
        await asyncio.sleep(0)
        async with database.read() as session:
            await session.get_one(Job, attempt.job_id)
        busy.discard(attempt.key)
        done.append(attempt.job_id)

    pubsub = LocalPubSub()
    servers = [Jobs(database, pubsub) for _ in range(2)]
    for server in servers:
        server.register("work", work, QUICK)
        await server.open()
    added = [await add(database, key=f"key {each % 3}" if each % 2 else None) for each in range(30)]
    for each in added:
        await reaches(database, each, JobState.DONE)
    for server in servers:
        await server.close()
    assert sorted(done) == sorted(added)


@pytest.mark.both_databases
async def test_two_claims_for_one_key_never_both_succeed(database: Database) -> None:
    first, second = await add(database, key="same"), await add(database, key="same")
    async with database.session() as session:
        claimed = await queue.claim(session, "one", ["work"])
    assert claimed is not None
    assert claimed.id == first
    async with database.session() as session:
        assert await queue.claim(session, "other", ["work"]) is None
    async with database.session() as session:
        await queue.settle(session, first, "one", state=JobState.DONE)
    async with database.session() as session:
        claimed = await queue.claim(session, "other", ["work"])
        assert claimed is not None
        assert claimed.id == second


@pytest.mark.parametrize("database_kind", [POSTGRES], indirect=True)
async def test_postgresql_tells_other_servers_of_jobs_also_after_its_connections_were_cut(
    database: Database,
) -> None:
    """There is no Redis. The first server stores jobs that only the second one can do, so PostgreSQL must
    notify the second server.
    """

    async def work(_attempt: JobAttempt) -> None:
        return

    elsewhere = Database(database.url)
    first, second = Jobs(database, LocalPubSub()), Jobs(elsewhere, LocalPubSub())
    second.register("work", work, QUICK)
    await first.open()
    await second.open()
    try:
        await reaches(database, await add(database), JobState.DONE)
        cut = text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid != pg_backend_pid() AND (query LIKE 'LISTEN%' OR query LIKE 'NOTIFY%')"
        )
        async with database.read() as session:
            assert (await session.scalars(cut)).all()
        await reaches(database, await add(database), JobState.DONE)
        await reaches(database, await add(database), JobState.DONE)
    finally:
        await first.close()
        await second.close()
        await elsewhere.close()


@pytest.mark.parametrize("database_kind", [POSTGRES], indirect=True)
async def test_other_servers_are_told_of_a_job_that_is_stored_while_postgresql_ends_the_connection(
    database: Database,
) -> None:
    """PostgreSQL first sends an error that announces the end, and then closes the connection. The job is
    stored between the two steps.
    """

    async def work(_attempt: JobAttempt) -> None:
        return

    url = make_url(database.url)
    async with OutageProxy(url.port or 5432) as proxy:
        proxied = url.set(host="127.0.0.1", port=proxy.port).update_query_dict({"ssl": "disable"})
        here = Database(proxied.render_as_string(hide_password=False))
        first, second = Jobs(here, LocalPubSub()), Jobs(database, LocalPubSub())
        second.register("work", work, QUICK)
        await first.open()
        await second.open()
        try:
            await reaches(database, await add(here), JobState.DONE)
            proxy.send_to_clients(END_BY_ADMINISTRATOR)
            await reaches(database, await add(here), JobState.DONE)
        finally:
            await first.close()
            await second.close()
            await here.close()


async def test_a_job_of_a_transaction_that_is_rolled_back_does_not_exist(database: Database) -> None:
    async with database.session() as session:
        job_id = await enqueue(session, "work", {})
        await session.rollback()
    async with database.read() as session:
        assert await session.get(Job, job_id) is None


async def test_failures_are_tried_again_and_then_dead_with_their_reason(database: Database) -> None:
    attempts: list[bool] = []

    async def fail(attempt: JobAttempt) -> None:
        attempts.append(attempt.is_last)
        raise OSError("the disk is away")

    async def give_up(_attempt: JobAttempt) -> None:
        raise GiveUp("never possible")

    async def hang(_attempt: JobAttempt) -> None:
        await asyncio.Event().wait()

    jobs = Jobs(database, LocalPubSub())
    jobs.register("fail", fail, QUICK)
    jobs.register("give_up", give_up, QUICK)
    jobs.register("hang", hang, RetryPolicy(attempts=1, timeout=timedelta(milliseconds=10)))
    await jobs.open()
    failed = await reaches(database, await add(database, "fail"), JobState.DEAD)
    assert (failed.error, attempts) == ("OSError: the disk is away", [False, False, True])
    given_up = await reaches(database, await add(database, "give_up"), JobState.DEAD)
    assert (given_up.error, given_up.attempts) == ("never possible", 1)
    hung = await reaches(database, await add(database, "hang"), JobState.DEAD)
    assert hung.error == "It took longer than 0.01 s."
    await jobs.close()


async def test_a_feature_is_told_why_its_job_is_dead_also_if_the_last_attempt_was_cut_off(
    database: Database,
) -> None:
    told: dict[UUID, tuple[bool, str]] = {}

    async def hang(_attempt: JobAttempt) -> None:
        await asyncio.sleep(60)

    async def note(attempt: JobAttempt, reason: str) -> None:
        assert (await job_of(database, attempt.job_id)).state is JobState.RUNNING
        told[attempt.job_id] = attempt.is_last, reason
        if attempt.kind == "note fails":
            raise ValueError("it cannot be noted")

    brief = RetryPolicy(attempts=2, first_pause=timedelta(milliseconds=1), timeout=timedelta(seconds=0.1))
    jobs = Jobs(database, LocalPubSub())
    jobs.register("hang", hang, brief, on_dead=note)
    jobs.register("note fails", hang, brief, on_dead=note)
    cut_off = await add(database, "hang")
    async with database.session() as session:
        # As after a server that was killed in the last attempt.
        killed = {"state": JobState.RUNNING, "lease_until": LONG_AGO, "attempts": 2}
        await session.execute(update(Job).where(Job.id == cut_off).values(**killed))
    await jobs.open()
    late, not_noted = await add(database, "hang"), await add(database, "note fails")
    for each in (cut_off, late, not_noted):
        await reaches(database, each, JobState.DEAD)
    await jobs.close()
    too_late = (True, "It took longer than 0.1 s.")
    silent = (True, "The server ended, or was silent, during the last attempt.")
    assert told == {cut_off: silent, late: too_late, not_noted: too_late}


async def test_a_job_whose_server_is_silent_goes_on_elsewhere_and_the_late_result_is_dropped(
    database: Database,
) -> None:
    job_id = await add(database)
    async with database.session() as session:
        assert await queue.claim(session, "silent", ["work"])
        assert await queue.claim(session, "other", ["work"]) is None
        await session.execute(update(Job).values(lease_until=LONG_AGO))
    async with database.session() as session:
        taken = await queue.claim(session, "other", ["work"])
        assert taken is not None
        assert (taken.attempts, taken.error) == (2, queue.CUT_OFF)
        assert not await queue.settle(session, job_id, "silent", state=JobState.DONE)
        assert await queue.renew(session, [job_id], "silent") == set()
        assert await queue.renew(session, [job_id], "other") == {job_id}


async def test_the_most_urgent_job_comes_first_and_none_before_its_time(database: Database) -> None:
    await add(database, run_at=now() + timedelta(hours=1), priority=9)
    usual, urgent = await add(database), await add(database, priority=5)
    claimed = []
    for _ in range(3):
        async with database.session() as session:
            job = await queue.claim(session, "one", ["work"])
            claimed.append(job and job.id)
    assert claimed == [urgent, usual, None]


async def test_a_scheduled_job_repeats_and_shows_its_failure(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0

    async def tick(_attempt: JobAttempt) -> None:
        nonlocal turns
        turns += 1
        if turns == 2:
            raise ValueError("second turn")

    jobs = Jobs(database, LocalPubSub())
    jobs.schedule("tick", tick, timedelta(milliseconds=5), RetryPolicy(attempts=1))
    await jobs.open()

    async def has_repeated() -> bool:
        return turns > 3

    await eventually(has_repeated)
    await jobs.close()
    job = await job_of(database, queue.schedule_id("tick"))
    assert (job.state, job.error) == (JobState.WAITING, None)


async def test_administrators_see_retry_and_cancel_jobs(app: App, client: httpx.AsyncClient) -> None:
    job_id = await add(app.database, "unknown")
    async with app.database.session() as session:
        await session.execute(
            update(Job).where(Job.id == job_id).values(state=JobState.DEAD, error="boom", attempts=8)
        )
    path = "/api/v1/administration/jobs"
    page = (await client.get(path, params={"state": "dead", "limit": 1})).json()
    (shown,) = page["items"]
    assert (shown["id"], shown["error"], shown["has_handler"]) == (job_id.hex, "boom", False)
    assert {"kind": "unknown", "state": "dead", "count": 1, "has_handler": False} in page["counts"]
    assert {one["kind"] for one in page["counts"]} > {"audit_log.trim", "failed_sign_ins.tidy"}

    assert shown["trouble"] is None
    silent, late = await add(app.database, "silent"), await add(app.database, "late")
    async with app.database.session() as session:
        await session.execute(update(Job).where(Job.id == silent).values(state=JobState.RUNNING))
        due = now() - timedelta(minutes=11)
        await session.execute(update(Job).where(Job.id == late).values(run_at=due))
    page = (await client.get(path)).json()
    troubles = {one["id"]: one["trouble"] for one in page["items"] if one["trouble"]}
    assert (troubles, page["troubled"]) == ({silent.hex: "silent", late.hex: "late"}, 2)

    retried = (await client.post(f"{path}/{job_id}/retry")).json()
    assert (retried["state"], retried["attempts"]) == ("waiting", 0)
    cancelled = (await client.post(f"{path}/{job_id}/cancel")).json()
    assert cancelled["state"] == "cancelled"
    assert_problem(await client.post(f"{path}/{job_id}/cancel"), 409, "job_not_cancellable")
    assert_problem(await client.post(f"{path}/{uuid4()}/retry"), 404, "not_found")
    log = (await client.get("/api/v1/audit-log", params={"target_id": job_id.hex})).json()["items"]
    assert [one["action"] for one in log] == ["job.cancelled", "job.retried"]

    first = (await client.get(path, params={"limit": 2})).json()
    rest = (await client.get(path, params={"page_id": first["next_page_id"]})).json()
    assert not {one["id"] for one in first["items"]} & {one["id"] for one in rest["items"]}
