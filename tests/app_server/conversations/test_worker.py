"""Tests of the start worker: after the app server ends, the next worker continues a start at the step where
the last worker stopped.
"""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.conversations import removal
from app_server.conversations.models import LONG_AGO, Conversation, StartStatus, StartTask
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.tasks import new_stages
from app_server.conversations.start.worker import MAX_CONCURRENT, StartWorker
from app_server.core.database import now
from app_server.core.errors import Unavailable
from app_server.events import log
from app_server.sandbox_backends.backend import Machine
from app_server.sandbox_backends.process.backend import ProcessBackend
from app_server.sandboxes.service import Sandboxes
from app_server.users.service import find_owner
from tests.app_server.conversations.conftest import ROOT, Home, allowed, commit, eventually
from tests.app_server.conversations.feeds import feed_of
from tests.support.live_trees import files_below
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.both_databases


def new_worker(home: Home) -> StartWorker:
    state = home.state
    return StartWorker(
        state["config"],
        state["database"],
        state["cipher"],
        state["sandboxes"],
        state["pubsub"],
        state["git_tokens"],
    )


async def test_a_start_that_was_cut_off_goes_on_with_the_next_server(home: Home, repository: Path) -> None:
    (repository / ".openhands").mkdir()
    (repository / ".openhands/setup.sh").write_text(
        "echo x >> ../runs\nfor i in $(seq 3000); do [ -e ../gate ] && break; sleep 0.05; done\n"
    )
    commit(repository, "Add a slow setup")
    task = await home.start(**allowed(repository))

    async def is_in_setup() -> Path | None:
        below = await asyncio.to_thread(lambda: list(files_below(home.config.home)))
        return next((path for path in below if path.name == "runs"), None)

    runs = await eventually(is_in_setup)
    await home.state["start_worker"].close()
    assert (await home.task(task["id"]))["status"] == "RUNNING_SETUP_SCRIPT"

    runs.with_name("gate").touch()
    successor = new_worker(home)
    await successor.open()
    task = await home.ended(task["id"])
    await successor.close()

    assert task["status"] == "READY", task["error"]
    assert len((await home.client.get("/api/v1/sandboxes/search")).json()["items"]) == 1


async def test_what_a_killed_server_worked_on_goes_on_with_its_successor_at_once(home: Home) -> None:
    await home.state["start_worker"].close()
    task = await home.start()
    killed, successor = new_worker(home), new_worker(home)
    await killed._take_over()
    async with home.database.session() as session:
        assert await start_tasks.claim(session, killed._owner)
        assert await start_tasks.claim(session, "another server") is None

    await successor._take_over()

    async with home.database.session() as session:
        assert await start_tasks.claim(session, "another server") == start_tasks.Claim(
            *[UUID(task["id"])] * 2
        )


async def test_a_server_that_was_late_to_renew_its_lease_does_not_begin_the_start_again(
    home: Home, repository: Path
) -> None:
    (repository / ".openhands").mkdir()
    (repository / ".openhands/setup.sh").write_text(
        "echo x >> ../runs\nfor i in $(seq 3000); do [ -e ../gate ] && break; sleep 0.05; done\n"
    )
    commit(repository, "Add a slow setup")
    slow = await home.start(**allowed(repository))

    async def is_in_setup() -> Path | None:
        below = await asyncio.to_thread(lambda: list(files_below(home.config.home)))
        return next((path for path in below if path.name == "runs"), None)

    runs = await eventually(is_in_setup)
    async with home.database.session() as session:
        await session.execute(
            update(StartTask).where(StartTask.id == UUID(slow["id"])).values(lease_until=LONG_AGO)
        )
    # A worker claims older starts first. So before this start ends, a wrong second claim of the slow one has
    # begun.
    later = await home.ended((await home.start())["id"])
    runs.with_name("gate").touch()
    slow = await home.ended(slow["id"])

    assert (later["status"], slow["status"]) == ("READY", "READY"), slow["error"]
    assert runs.read_text() == "x\n"


async def test_two_workers_bring_up_each_conversation_once(home: Home) -> None:
    second = new_worker(home)
    await second.open()

    tasks = await asyncio.gather(*(home.start() for _ in range(3)))
    ended = [await home.ended(task["id"]) for task in tasks]
    await second.close()

    assert [task["status"] for task in ended] == ["READY"] * 3
    sandboxes = (await home.client.get("/api/v1/sandboxes/search")).json()["items"]
    assert {sandbox["id"] for sandbox in sandboxes} == {task["id"] for task in tasks}


async def test_a_deleted_start_that_cannot_be_interrupted_does_not_stop_other_starts(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch, begun, go_on = ProcessBackend.start, asyncio.Event(), asyncio.Event()

    async def slow_first_start(backend: ProcessBackend, *rest: Any) -> Machine:
        if not begun.is_set():
            begun.set()
            await go_on.wait()
        return await launch(backend, *rest)

    monkeypatch.setattr(ProcessBackend, "start", slow_first_start)
    try:
        slow = await home.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await begun.wait()
        working = home.state["start_worker"]._tasks[UUID(slow["id"])]
        (await home.client.delete(f"{ROOT}/{slow['id']}")).raise_for_status()

        async def is_cancelled() -> bool:
            return bool(working.cancelling())

        await eventually(is_cancelled)
        other = await home.ended((await home.start())["id"])
        assert other["status"] == "READY"
        assert not working.done()
        assert await is_left(home, UUID(slow["id"]))
    finally:
        go_on.set()

    await eventually(lambda: are_gone(home, {UUID(slow["id"])}))


async def test_deletions_that_cannot_succeed_do_not_delay_the_others(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await home.state["start_worker"].close()
    added = [await add_deleted(home, minutes_ago=60 - number) for number in range(MAX_CONCURRENT + 3)]
    lost, others = set(added[:MAX_CONCURRENT]), set(added[MAX_CONCURRENT:])
    delete, engine_is_away = Sandboxes.delete, True

    async def fail_for_the_lost(sandboxes: Sandboxes, sandbox_id: UUID) -> None:
        if engine_is_away and sandbox_id in lost:
            raise Unavailable("The sandbox host has not answered.", code="sandbox_host_lost")
        await delete(sandboxes, sandbox_id)

    monkeypatch.setattr(Sandboxes, "delete", fail_for_the_lost)
    worker = new_worker(home)
    await worker.open()
    try:
        await eventually(lambda: are_gone(home, others))
        assert await is_left(home, added[0])
        told = [each for each in caplog.records if each.name == removal.__name__]
        assert {each.getMessage() for each in told} == {"a deleted conversation cannot be removed yet"}
        assert not any(each.exc_info for each in told)

        engine_is_away = False
        await eventually(lambda: are_gone(home, lost))
    finally:
        await worker.close()


def test_the_pause_after_a_failed_removal_doubles_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    failed, conversation_id, moment = removal.FailedRemovals(), uuid4(), 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: moment)
    pauses = []
    for _ in range(11):
        failed.add(conversation_id, Unavailable("It is away.", code="away"))
        began = moment
        while failed.waiting():
            moment += 1
        pauses.append(moment - began)
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]

    failed.forget(conversation_id)
    failed.add(conversation_id, Unavailable("It is away.", code="away"))
    moment += 1
    assert failed.waiting() == set()


async def test_a_long_log_is_deleted_in_steps_and_after_a_failure_the_rest(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_PER_TRANSACTION", 2)
    async with feed_of(home) as feed:
        await feed.report_events(1, 5)
    conversation_id = UUID(feed.id)
    async with home.database.session() as session:
        (await session.get_one(Conversation, conversation_id)).deleted_at = now()
    seen: list[int] = []

    async def left() -> int:
        async with home.database.read() as session:
            return await log.count(session, conversation_id, log.EventFilter())

    delete_some = log.delete_some

    async def fail_at_second_step(session: AsyncSession, conversation_id: UUID, limit: int) -> int:
        seen.append(await left())
        if len(seen) == 2:
            raise OperationalError("DELETE", {}, Exception("database is locked"))
        return await delete_some(session, conversation_id, limit)

    monkeypatch.setattr(log, "delete_some", fail_at_second_step)
    with pytest.raises(OperationalError):
        await removal.take_down(home.database, home.state["sandboxes"], conversation_id)
    assert await left() == 3
    assert await is_left(home, conversation_id)

    await removal.take_down(home.database, home.state["sandboxes"], conversation_id)

    assert seen == [5, 3, 3, 1]
    assert await left() == 0
    assert await are_gone(home, {conversation_id})


async def add_deleted(home: Home, *, minutes_ago: int) -> UUID:
    """Adds a deleted conversation whose sandbox has not been removed yet. Returns its id."""
    conversation_id = uuid4()
    async with home.database.session() as session:
        owner = await find_owner(session)
        assert owner is not None
        ids = {"id": conversation_id, "user_id": owner.id}
        deleted_at = now() - timedelta(minutes=minutes_ago)
        session.add(Conversation(**ids, llm_profile="demo", last_seq=0, deleted_at=deleted_at))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        await home.state["sandboxes"].create(session, sandbox_id=conversation_id, user_id=owner.id)
    return conversation_id


async def is_left(home: Home, conversation_id: UUID) -> bool:
    async with home.database.read() as session:
        return await session.get(Conversation, conversation_id) is not None


async def are_gone(home: Home, conversation_ids: set[UUID]) -> bool:
    async with home.database.read() as session:
        found = await session.scalars(select(Conversation.id).where(Conversation.id.in_(conversation_ids)))
        return not found.all()


async def test_progress_of_a_start_is_seen_while_it_runs(home: Home) -> None:
    async with home.client.stream("POST", "/api/v1/app-conversations/stream-start", json={}) as reply:
        text = "".join([piece async for piece in reply.aiter_text()])

    assert '"status":"WORKING","detail"' in text
    assert '"status":"READY"' in text
    assert text.startswith("[{")
    assert text.endswith("}]")
