"""Tests of the start worker: after the app server ends, the next worker continues a start at the step where
the last worker stopped.
"""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import update

from app_server.conversations.models import LONG_AGO, StartTask
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.worker import StartWorker
from tests.app_server.conversations.conftest import Home, allowed, commit, eventually
from tests.support.live_trees import files_below

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


async def test_progress_of_a_start_is_seen_while_it_runs(home: Home) -> None:
    async with home.client.stream("POST", "/api/v1/app-conversations/stream-start", json={}) as reply:
        text = "".join([piece async for piece in reply.aiter_text()])

    assert '"status":"WORKING","detail"' in text
    assert '"status":"READY"' in text
    assert text.startswith("[{")
    assert text.endswith("}]")
