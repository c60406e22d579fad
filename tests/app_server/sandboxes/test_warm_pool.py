"""Tests of the warm pool: each container that is started in advance becomes one sandbox, also if servers are
killed.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from docker import DockerClient
from docker.models.containers import Container
from pydantic import SecretStr

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.cli.sandbox_inventory import open_inventory
from app_server.sandbox_backends.docker.backend import DockerBackend
from app_server.sandbox_backends.docker.warm_pool import MEMBER_BYTES
from app_server.sandbox_backends.docker.warm_pool_registry import POOL_FOLDER, WarmPoolRegistry
from app_server.sandbox_images.definition import current_images, image_definition
from app_server.sandboxes.service import Sandboxes
from tests.app_server.eventually import eventually
from tests.app_server.sandboxes.conftest import House, name_of, shell
from tests.support.sandbox_image import sandbox_image

pytestmark = pytest.mark.docker

# More calls of the engine than a start makes, and more than filling the pool with one container makes.
MOST_CALLS = 40


class Killed(BaseException):
    """An exception that simulates kill -9 between two calls of the engine: no code catches it."""


@pytest.fixture
def pooled_house(docker_house: House) -> House:
    with_pool(docker_house, 1)
    return docker_house


def with_pool(house: House, size: int, **others: Any) -> None:
    house.config = house.config.model_copy(update={"sandbox_pool": size, **others})


async def fill(house: House, engine: DockerClient, sandboxes: Sandboxes, size: int) -> None:
    """Waits until `size` containers of the pool are ready, for the engine and for the backend."""
    backend = backend_of(sandboxes)
    await backend.prepare(house.reports.append)

    async def is_full() -> bool:
        await sandboxes.check()
        paused = [each for each in members(house, engine) if each.status == "paused"]
        return len(paused) == size and backend.spare_bytes == size * MEMBER_BYTES

    await eventually(is_full)


def backend_of(sandboxes: Sandboxes) -> DockerBackend:
    backend = sandboxes._machines.backend
    assert isinstance(backend, DockerBackend)
    return backend


def members(house: House, engine: DockerClient) -> list[Container]:
    """Returns the containers that were made for this installation's pool, also those that sandboxes have
    taken.
    """
    owner = house.config.home / "pool" / "owner"
    label = f"slipway.pool={owner.read_text()}" if owner.exists() else "slipway.pool=none"
    return list(engine.containers.list(all=True, filters={"label": label}, ignore_removed=True))


def volumes_of(containers: list[Container]) -> set[str]:
    return {mount["Name"] for each in containers for mount in each.attrs["Mounts"] if "Name" in mount}


def records(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "pool").glob("*/*"))


def die_before(monkeypatch: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """Makes the `number`-th call of the engine and all later ones raise `Killed`. Returns a function that
    returns the number of calls until now.

    If the same call is repeated to wait for something, it counts once.
    """
    count, latest, call = 0, None, DockerBackend.call

    async def dying(self: DockerBackend, work: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal count, latest
        count, latest = count + (work is not latest), work
        if count >= number:
            raise Killed
        return await call(self, work, *arguments)

    monkeypatch.setattr(DockerBackend, "call", dying)
    return lambda: count


@pytest.fixture
def other_base(docker_house: House, engine: DockerClient) -> Iterator[str]:
    """Yields the name of a base image that a user has chosen. The sandbox image on this base exists, as if
    it had been built.
    """
    base = f"slipway-base:{uuid4().hex[:12]}"
    image = image_definition(docker_house.config.sandbox_flavour, base).image
    engine.images.get(sandbox_image()).tag(image)
    yield base
    engine.images.remove(image)


async def bring_up_on(house: House, sandboxes: Sandboxes, base: str) -> RunningSandbox:
    sandbox_id = uuid4()
    async with house.database.session() as session:
        await sandboxes.create(session, sandbox_id=sandbox_id, user_id=house.user_id, base_image=base)
    return await sandboxes.bring_up(sandbox_id, house.reports.append)


async def test_a_start_takes_a_container_of_its_base_from_the_pool_and_keeps_its_files_for_good(
    pooled_house: House, engine: DockerClient, other_base: str
) -> None:
    house = pooled_house
    async with house.open_sandboxes() as sandboxes:
        await fill(house, engine, sandboxes, 1)
        (member,) = members(house, engine)
        async with open_inventory(house.config) as inventory:
            assert inventory.spare() == 1
        sandbox_id = await house.create(sandboxes)
        running = await sandboxes.bring_up(sandbox_id, house.reports.append)
        claimed = engine.containers.get(name_of(sandbox_id))

        assert claimed.id == member.id
        assert await running.client.is_healthy(), "it takes the session key, which is checked here"
        environment = await shell(running, "echo kept > file; env; cat /proc/1/environ 2>/dev/null; true")
        keys = [line for line in environment.splitlines() if "OH_" in line and "KEY" in line]
        assert keys == []
        await fill(house, engine, sandboxes, 1)
        assert {each.id for each in members(house, engine)} > {member.id}, "it was replaced"

        image = image_definition(house.config.sandbox_flavour, other_base).image
        on_other = await bring_up_on(house, sandboxes, other_base)
        row = await house.row(on_other.id)
        assert await on_other.client.is_healthy()
        assert row is not None
        assert row.spec_id == image
        assert sorted(each.status for each in members(house, engine)) == ["paused", "running"]
        assert engine.containers.get(name_of(on_other.id)).attrs["Config"]["Image"] == image
        # The cleanup of images must keep the image of this sandbox.
        assert image in current_images(house.config, {other_base})
        await sandboxes.delete(on_other.id)

    async with house.open_sandboxes() as successor:
        claimed.remove(force=True)
        again = await successor.bring_up(sandbox_id, house.reports.append)
        assert await shell(again, "cat file") == "kept\n"
        await successor.delete(sandbox_id)
    assert (members(house, engine), records(house.config.home)) == ([], [])
    left = {volume.name for volume in engine.volumes.list()}
    assert not left & volumes_of([member]), "the volume goes with its sandbox"


async def test_many_starts_at_once_get_different_containers(
    pooled_house: House, engine: DockerClient
) -> None:
    with_pool(pooled_house, 2)
    async with pooled_house.open_sandboxes() as sandboxes:
        await fill(pooled_house, engine, sandboxes, 2)
        pool = {member.id for member in members(pooled_house, engine)}
        running = await asyncio.gather(*(pooled_house.start(sandboxes) for _ in range(5)))
        await asyncio.gather(*(shell(each, f"echo {each.id} > file") for each in running))
        machines = {str(engine.containers.get(name_of(each.id)).id) for each in running}

        assert len({each.client.url for each in running}) == len(machines) == 5
        assert pool <= machines
        for each in running:
            assert await shell(each, "cat file") == f"{each.id}\n"


async def test_a_server_that_is_killed_in_a_claim_leaves_one_machine_and_a_start_that_goes_on(
    pooled_house: House, engine: DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3, MOST_CALLS):  # the first two calls look for the image
        with_pool(pooled_house, 1)
        async with pooled_house.open_sandboxes(close=False) as victim:
            await fill(pooled_house, engine, victim, 1)
            sandbox_id = await pooled_house.create(victim)
            with monkeypatch.context() as patch:
                calls = die_before(patch, number)
                with contextlib.suppress(Killed):
                    await victim.bring_up(sandbox_id, pooled_house.reports.append)
                was_killed = calls() >= number
            await victim._machines.background.close()
        with_pool(pooled_house, 0)
        async with pooled_house.open_sandboxes() as successor:
            running = await successor.bring_up(sandbox_id, pooled_house.reports.append)
            await shell(running, "echo works > file")
            await backend_of(successor).replenish()
            assert [each.name for each in members(pooled_house, engine)] in ([], [name_of(sandbox_id)])
            await successor.delete(sandbox_id)
        assert (members(pooled_house, engine), records(pooled_house.config.home)) == ([], []), number
        if not was_killed:
            return
    pytest.fail("a start makes more calls than are tried")


async def test_a_server_that_is_killed_while_it_fills_the_pool_leaves_nothing_that_stays(
    pooled_house: House, engine: DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2, MOST_CALLS):  # the first call that may change something is the second one
        async with pooled_house.open_sandboxes(close=False) as victim:
            await backend_of(victim).prepare(pooled_house.reports.append)
            with monkeypatch.context() as patch:
                calls = die_before(patch, number)
                with contextlib.suppress(Killed):
                    await backend_of(victim).replenish()
                was_killed = calls() >= number
        with_pool(pooled_house, 0)
        made = members(pooled_house, engine)
        async with pooled_house.open_sandboxes() as successor:
            await backend_of(successor).replenish()
        assert (members(pooled_house, engine), records(pooled_house.config.home)) == ([], []), number
        assert not {volume.name for volume in engine.volumes.list()} & volumes_of(made)
        with_pool(pooled_house, 1)
        if not was_killed:
            return
    pytest.fail("filling the pool takes more calls than are tried")


async def test_what_an_earlier_server_left_is_taken_over_only_if_it_is_still_right(
    pooled_house: House, engine: DockerClient
) -> None:
    async with pooled_house.open_sandboxes(close=False) as first:
        await fill(pooled_house, engine, first, 1)
    (left,) = members(pooled_house, engine)

    async with pooled_house.open_sandboxes(close=False) as second:
        await backend_of(second).replenish()
        kept = [each.id for each in members(pooled_house, engine)]
    with_pool(pooled_house, 1, sandbox_memory_bytes=600 * 1024**2)
    async with pooled_house.open_sandboxes() as third:
        await backend_of(third).replenish()
        await fill(pooled_house, engine, third, 1)
        replaced = [each.id for each in members(pooled_house, engine)]

    assert kept == [left.id]
    assert len(replaced) == 1
    assert replaced != kept, "other limits are asked for now"
    assert members(pooled_house, engine) == [], "who ends in order takes the pool along"


async def test_an_image_that_cannot_wait_for_its_user_is_started_the_long_way(
    pooled_house: House, engine: DockerClient, tmp_path: Path
) -> None:
    async with pooled_house.open_sandboxes() as sandboxes:
        await backend_of(sandboxes).prepare(pooled_house.reports.append)
        image = backend_of(sandboxes).image
    (tmp_path / "Dockerfile").write_text(
        f"FROM {image}\nUSER root\n"
        "RUN sed -i s/OH_DEFERRED_INIT/OH_NOTHING/ /opt/slipway/bin/entrypoint\nUSER agent\n"
    )
    older, _ = engine.images.build(path=str(tmp_path), rm=True)
    with_pool(pooled_house, 1, sandbox_image=older.id)
    try:
        async with pooled_house.open_sandboxes() as sandboxes:
            await backend_of(sandboxes).replenish()
            assert members(pooled_house, engine) == []
            running = await pooled_house.start(sandboxes)
            assert await shell(running, "echo works") == "works\n"
            await sandboxes.delete(running.id)
    finally:
        engine.images.remove(str(older.id), force=True)


async def test_each_base_has_a_separate_pool(
    pooled_house: House, engine: DockerClient, other_base: str
) -> None:
    house = pooled_house
    with_pool(house, 1, sandbox_pools={other_base: 2, "never-built:1": 3})
    async with house.open_sandboxes(close=False) as sandboxes:
        await fill(house, engine, sandboxes, 3)
        pool = {member.id: member.attrs["Config"]["Image"] for member in members(house, engine)}
    # A server with a smaller pool takes over the containers that it needs, and removes the others.
    with_pool(house, 1, sandbox_pools={other_base: 1})
    async with house.open_sandboxes() as sandboxes:
        await fill(house, engine, sandboxes, 2)
        left = {member.id for member in members(house, engine) if member.status == "paused"}
        assert left < set(pool)
        own = await house.start(sandboxes)
        other = await bring_up_on(house, sandboxes, other_base)
        machines = [engine.containers.get(name_of(each.id)) for each in (own, other)]

        assert [pool.get(machine.id) for machine in machines] == [
            image_definition(house.config.sandbox_flavour, base).image
            for base in (house.config.sandbox_base_image, other_base)
        ]
        assert await shell(other, "echo works") == "works\n"
        for each in (own, other):
            await sandboxes.delete(each.id)


async def test_containers_that_another_server_keeps_ready_count_and_are_removed_for_waiting_sandboxes(
    docker_house: House, engine: DockerClient, tmp_path: Path
) -> None:
    shared = SecretStr(docker_house.config.resolved_database_url)
    memory = 2 * docker_house.config.sandbox_memory_bytes
    docker_house.config = docker_house.config.model_copy(
        update={"database_url": shared, "sandbox_memory_total_bytes": memory}
    )
    other = replace(docker_house, config=docker_house.config.model_copy(update={"home": tmp_path / "other"}))
    with_pool(other, 1)
    async with docker_house.open_sandboxes() as here, other.open_sandboxes() as there:
        await fill(other, engine, there, 1)
        first = await docker_house.start(here)
        assert [each.status for each in members(other, engine)] == ["paused"], "there is room beside it"

        await docker_house.start(here)
        assert members(other, engine) == []

        await here.delete(first.id)
        again = await other.start(there)
        assert await shell(again, "echo up") == "up\n"
        # The disk is in the home of the server that created it, so this server must delete the sandbox.
        await there.delete(again.id)


async def test_what_an_earlier_server_left_is_ready_before_what_is_of_no_use_is_gone(
    pooled_house: House, engine: DockerClient, other_base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = pooled_house
    with_pool(house, 1, sandbox_pools={other_base: 1})
    async with house.open_sandboxes(close=False) as killed:
        await fill(house, engine, killed, 2)
    # The server examines the containers in order. The one that the next server needs comes last.
    last = engine.containers.get(WarmPoolRegistry(house.config.home / POOL_FOLDER).free()[-1].name)
    own_image = image_definition(house.config.sandbox_flavour, house.config.sandbox_base_image).image
    is_own = last.attrs["Config"]["Image"] == own_image
    with_pool(house, int(is_own), sandbox_pools={} if is_own else {other_base: 1})
    removing, go_on = threading.Event(), threading.Event()
    unmake = DockerBackend.unmake

    def slow_unmake(backend: DockerBackend, client: DockerClient, name: str) -> None:
        removing.set()
        go_on.wait()
        unmake(backend, client, name)

    async with house.open_sandboxes() as sandboxes:
        with monkeypatch.context() as slow:
            slow.setattr(DockerBackend, "unmake", slow_unmake)
            backend = backend_of(sandboxes)
            await backend.prepare(house.reports.append)
            replenishing = asyncio.create_task(backend.replenish())
            try:
                await asyncio.to_thread(removing.wait)
                started = await (
                    house.start(sandboxes) if is_own else bring_up_on(house, sandboxes, other_base)
                )
            finally:
                go_on.set()
                await replenishing

        assert engine.containers.get(name_of(started.id)).id == last.id
        await sandboxes.delete(started.id)
