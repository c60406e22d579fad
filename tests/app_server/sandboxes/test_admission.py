"""Tests of limited memory for sandboxes: further starts wait in a queue until a sandbox ends or sleeps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from docker import DockerClient
from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import Config
from app_server.core.errors import StartFailure, Unavailable
from app_server.core.start_report import Report
from app_server.sandbox_lifecycle import admission
from app_server.sandbox_lifecycle import capacity_reservations as places
from app_server.sandbox_lifecycle.admission_queue import AdmissionQueue, Waiting
from app_server.sandbox_lifecycle.capacity_reservations import CapacityReservations, ReservationState
from app_server.sandbox_lifecycle.idle_sleep import Sleep
from app_server.sandbox_lifecycle.machines import Machines
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes import service
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import Role, User
from tests.app_server.eventually import eventually
from tests.app_server.sandboxes.conftest import House, name_of, open_house, shell
from tests.support.forked_agents import fork_sandboxes
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

ONE = 512 * 1024**2


def make_room_for(house: House, count: int, **others: object) -> None:
    limits = {"sandbox_memory_bytes": ONE, "sandbox_memory_total_bytes": count * ONE, **others}
    house.config = house.config.model_copy(update=limits)


async def another_user(house: House) -> UUID:
    user = User(id=uuid4(), name="Other", role=Role.MEMBER)
    async with house.database.session() as session:
        session.add(user)
    return user.id


@pytest.fixture
async def two_servers(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    """Yields an installation whose database several app servers can share."""
    fork_sandboxes(monkeypatch)
    config = Config(
        home=tmp_path / "home",
        database_url=SecretStr(database_url),
        sandbox="process",
        process_isolation="none",
        inner_port=free_port(),
    )
    async with open_house(config) as house:
        yield house


async def ids(house: House) -> list[UUID]:
    async with house.database.read() as session:
        return list(await session.scalars(select(Sandbox.id)))


async def new_sandbox(house: House, sandboxes: Sandboxes, user_id: UUID | None = None) -> UUID:
    sandbox_id = uuid4()
    async with house.database.session() as session:
        await sandboxes.create(session, sandbox_id=sandbox_id, user_id=user_id or house.user_id)
    return sandbox_id


@asynccontextmanager
async def under_way(work: Awaitable[RunningSandbox]) -> AsyncIterator[asyncio.Task[RunningSandbox]]:
    """Starts the work as a task and yields the task. Cancels the task at the end if it still runs."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def has_told(reports: list[str], text: str) -> None:
    async def told() -> bool:
        return any(text in line for line in reports)

    await eventually(told)


async def status_of(house: House, sandbox_id: UUID) -> SandboxStatus:
    row = await house.row(sandbox_id)
    assert row is not None
    return SandboxStatus(row.status)


async def test_a_sandbox_that_does_not_fit_waits_and_starts_when_another_is_deleted(house: House) -> None:
    make_room_for(house, 1)
    async with house.open_sandboxes() as sandboxes:
        first = await house.start(sandboxes)
        second, third = await new_sandbox(house, sandboxes), await new_sandbox(house, sandboxes)
        told: list[str] = []
        async with (
            under_way(sandboxes.bring_up(second, house.reports.append)) as next_one,
            under_way(sandboxes.bring_up(third, told.append)) as last_one,
        ):
            await has_told(told, "Number 2 of 2 in the queue")
            await has_told(house.reports, "Number 1 of 2 in the queue")
            assert sandboxes.is_waiting(third)
            await sandboxes.delete(second)
            with pytest.raises(Exception, match="No such sandbox"):
                await next_one
            await sandboxes.delete(first.id)
            await sandboxes.check()

            assert await (await last_one).client.is_healthy()
            assert not sandboxes.is_waiting(third)


async def test_users_take_turns_and_each_ones_starts_go_in_their_order() -> None:
    line, many, few = AdmissionQueue(), uuid4(), uuid4()
    moment = datetime.now(UTC)
    names: dict[UUID, str] = {}

    def join(user_id: UUID, name: str) -> None:
        waiting = Waiting(uuid4(), user_id, moment + timedelta(seconds=len(names)), lambda _: None)
        names[waiting.sandbox_id] = name
        line.join(waiting)

    for number in range(4):
        join(many, f"many{number}")
    join(few, "few0")
    served = []
    while order := line.in_order():
        served.append(names[order[0].sandbox_id])
        line.serve(order[0])
        if len(served) == 3:
            join(few, "few1")

    assert served == ["many0", "few0", "many1", "few1", "many2", "many3"]


async def test_another_users_start_does_not_wait_behind_all_of_ones(house: House) -> None:
    make_room_for(house, 1)
    async with house.open_sandboxes() as sandboxes:
        first = await house.start(sandboxes)
        mine = [await new_sandbox(house, sandboxes) for _ in range(2)]
        other = await new_sandbox(house, sandboxes, await another_user(house))
        async with (
            under_way(sandboxes.bring_up(mine[0], house.reports.append)),
            under_way(sandboxes.bring_up(mine[1], house.reports.append)),
            under_way(sandboxes.bring_up(other, house.reports.append)) as theirs,
        ):
            await has_told(house.reports, "Number 3 of 3 in the queue")
            await sandboxes.delete(first.id)
            await sandboxes.check()

            assert (await theirs).id == other
            assert [sandboxes.is_waiting(each) for each in mine] == [True, True]


async def test_an_idle_sandbox_falls_asleep_to_make_room_and_keeps_its_files(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_room_for(house, 2)
    async with house.open_sandboxes() as sandboxes:
        oldest, newer = await house.start(sandboxes), await house.start(sandboxes)
        await shell(oldest, "echo kept > file")
        monkeypatch.setattr(admission, "IDLE_SECONDS", 0.0)
        with sandboxes.keep_up(newer.id):
            third = await house.start(sandboxes)

        assert await status_of(house, oldest.id) == SandboxStatus.PAUSED
        assert await newer.client.is_healthy()
        assert await third.client.is_healthy()
        with sandboxes.keep_up(third.id):
            await sandboxes.wake(oldest.id)
        assert await shell(sandboxes.running(oldest.id), "cat file") == "kept\n"
        assert await status_of(house, newer.id) == SandboxStatus.PAUSED


async def test_a_sandbox_that_just_got_work_does_not_make_room(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_room_for(house, 2)
    async with house.open_sandboxes() as sandboxes:
        oldest, newer = await house.start(sandboxes), await house.start(sandboxes)
        monkeypatch.setattr(admission, "IDLE_SECONDS", 0.0)
        idle_for, found = Sleep.idle_for, list[list[UUID]]()

        async def busy() -> float:
            return 0.0

        async def send_after_the_look(sleep: Sleep, seconds: float) -> list[UUID]:
            found.append(sorted(await idle_for(sleep, seconds), key=[oldest.id, newer.id].index))
            monkeypatch.setattr(oldest.client, "idle_seconds", busy)
            return found[-1]

        monkeypatch.setattr(Sleep, "idle_for", send_after_the_look)
        third = await house.start(sandboxes)

        assert found[0] == [oldest.id, newer.id]
        assert await third.client.is_healthy()
        assert await status_of(house, oldest.id) == SandboxStatus.RUNNING
        assert await oldest.client.is_healthy()
        assert await status_of(house, newer.id) == SandboxStatus.PAUSED


async def test_a_message_to_a_sleeping_sandbox_is_told_when_there_is_no_room(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_room_for(house, 1)
    monkeypatch.setattr(service, "WAKE_PATIENCE_SECONDS", 0.1)
    async with house.open_sandboxes() as sandboxes:
        first = await house.start(sandboxes)
        await sandboxes.pause(first.id)
        second = await house.start(sandboxes)
        with pytest.raises(Unavailable) as refusal:
            await sandboxes.wake(first.id)
        assert refusal.value.code == "sandbox_waits"
        assert "Number 1 of 1 in the queue" in refusal.value.detail

        await sandboxes.delete(second.id)

        async def is_up() -> bool:
            await sandboxes.check()
            return first.id in sandboxes._machines.running

        await eventually(is_up)


async def test_a_sandbox_that_can_never_fit_fails_and_names_the_setting(house: House) -> None:
    make_room_for(house, 1, sandbox_memory_bytes=2 * ONE)
    async with house.open_sandboxes() as sandboxes:
        sandbox_id = await new_sandbox(house, sandboxes)
        with pytest.raises(StartFailure) as failure:
            await sandboxes.bring_up(sandbox_id, house.reports.append)

    assert failure.value.code == "sandbox_larger_than_total"
    assert "SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES" in failure.value.fix
    assert await status_of(house, sandbox_id) == SandboxStatus.ERROR


async def test_two_servers_on_one_database_let_in_no_more_than_one_would(
    two_servers: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = two_servers
    make_room_for(house, 2)
    begun: list[UUID] = []
    go_on = asyncio.Event()
    start = Machines.start

    async def slow_start(machines: Machines, sandbox_id: UUID, report: Report) -> RunningSandbox:
        begun.append(sandbox_id)
        await go_on.wait()
        return await start(machines, sandbox_id, report)

    monkeypatch.setattr(Machines, "start", slow_start)
    async with house.open_sandboxes() as one, house.open_sandboxes() as other, AsyncExitStack() as stack:
        starts = []
        for number in range(6):
            sandboxes = (one, other)[number % 2]
            sandbox_id = await new_sandbox(house, sandboxes)
            work = under_way(sandboxes.bring_up(sandbox_id, house.reports.append))
            starts.append(await stack.enter_async_context(work))

        async def all_are_seen() -> bool:
            waiting = [each for each in await ids(house) if one.is_waiting(each) or other.is_waiting(each)]
            return len(waiting) + len(begun) == len(starts)

        async def two_are_up() -> bool:
            return sum(each.done() for each in starts) == 2

        async def both_look() -> None:
            await asyncio.gather(one.check(), other.check())

        async def two_have_begun() -> bool:
            await both_look()
            return len(begun) >= 2

        await eventually(all_are_seen)
        await eventually(two_have_begun)
        for _ in range(3):
            await both_look()
        assert len(begun) == 2, "each knows what the other is about to start"
        go_on.set()
        await eventually(two_are_up)
        await both_look()
        # Each server has its own queue. Which of the four starts wait at which server depends on timing.
        await has_told(house.reports, "Number 2 of")
        assert len(begun) == 2, "and what the other has started"


async def test_the_memory_of_a_start_whose_server_died_is_free_after_a_while(
    two_servers: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LEASE", timedelta(0))
    those_of_all = CapacityReservations(two_servers.database)
    first = await those_of_all.take(uuid4(), await those_of_all.read())

    standing = await those_of_all.read()

    assert (first, standing) == (1, ReservationState(last=1, sandbox_ids=frozenset()))
    too_old = ReservationState(last=0, sandbox_ids=frozenset())
    assert await those_of_all.take(uuid4(), too_old) is None
    assert await those_of_all.take(uuid4(), standing) == 2


async def test_a_reservation_is_renewed_after_the_database_was_away(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservations = CapacityReservations(house.database)
    number = await reservations.take(uuid4(), await reservations.read())
    assert number is not None
    failures = [OperationalError("UPDATE", {}, Exception("database is locked"))]
    renewed = asyncio.Event()
    set_end = CapacityReservations._set_end

    async def fail_once(self: CapacityReservations, number: int, after: timedelta) -> None:
        if failures:
            raise failures.pop()
        await set_end(self, number, after)
        renewed.set()

    monkeypatch.setattr(CapacityReservations, "_set_end", fail_once)
    monkeypatch.setattr(places, "RENEW_SECONDS", 0.01)
    async with reservations.renewing(number), asyncio.timeout(PATIENCE_SECONDS):
        await renewed.wait()


async def test_the_memory_of_a_start_whose_sandbox_is_deleted_is_free_at_once(house: House) -> None:
    make_room_for(house, 1)
    of_a_killed_server = CapacityReservations(house.database)
    await of_a_killed_server.take(uuid4(), await of_a_killed_server.read())

    async with house.open_sandboxes() as sandboxes, asyncio.timeout(places.LEASE.total_seconds() / 2):
        assert await (await house.start(sandboxes)).client.is_healthy()


@pytest.mark.docker
async def test_pooled_and_halted_containers_end_first_and_what_runs_is_taken_over_without_room(
    docker_house: House, engine: DockerClient
) -> None:
    make_room_for(docker_house, 2, sandbox_pool=1)
    async with docker_house.open_sandboxes(close=False) as sandboxes:
        asleep, running = await docker_house.start(sandboxes), await docker_house.start(sandboxes)
        await shell(asleep, "echo kept > file")
        await sandboxes.pause(asleep.id)
        await docker_house.start(sandboxes)
        assert engine.containers.get(name_of(asleep.id)).status == "exited"
        assert sandboxes._machines.backend.spare_bytes == 0, "one would soon have to go again"

    async with docker_house.open_sandboxes() as successor:
        again = await successor.bring_up(running.id, docker_house.reports.append)
        assert await again.client.is_healthy(), "it was there already"
        async with under_way(successor.bring_up(asleep.id, docker_house.reports.append)) as waking:
            await has_told(docker_house.reports, "Number 1 of 1 in the queue")
            await successor.delete(running.id)
            await successor.check()
            assert await shell(await waking, "cat file") == "kept\n"
