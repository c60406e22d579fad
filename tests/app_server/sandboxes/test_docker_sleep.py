"""Tests of containers that sleep: first all processes are paused, and later the container is stopped."""

from uuid import UUID

import pytest
from docker import DockerClient

from app_server.sandbox_records.models import SandboxStatus
from tests.app_server.eventually import eventually
from tests.app_server.sandboxes.conftest import House, name_of, shell

pytestmark = pytest.mark.docker


async def test_what_runs_in_a_sandbox_goes_on_when_it_wakes_and_its_sleep_is_no_idle_time(
    docker_house: House, engine: DockerClient
) -> None:
    seconds = 5.0
    docker_house.config = docker_house.config.model_copy(update={"sandbox_idle_minutes": seconds / 60})
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        pid = (await shell(running, "setsid sleep 3600 >/dev/null 2>&1 & echo $!")).strip()

        async def has_idled() -> bool:
            return (await running.client.idle_seconds() or 0) > seconds

        await eventually(has_idled)
        await sandboxes.pause(running.id)
        asleep = await status_of(docker_house, running.id), container_status(engine, running.id)
        await sandboxes.check()
        assert asleep == (SandboxStatus.PAUSED, "paused")
        assert container_status(engine, running.id) == "paused", "the monitor must let it sleep"

        await sandboxes.wake(running.id)
        await sandboxes.rest()

        assert container_status(engine, running.id) == "running", "a message is on its way to it"
        assert await status_of(docker_house, running.id) == SandboxStatus.RUNNING
        woken = sandboxes.running(running.id)
        assert (await shell(woken, f"cat /proc/{pid}/comm")) == "sleep\n"

        await sandboxes.pause(running.id)
        await sandboxes.delete(running.id)
        assert not engine.containers.list(all=True, filters={"name": name_of(running.id)}), "even asleep"


async def test_a_sandbox_that_sleeps_on_gives_its_memory_back_and_keeps_its_files(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "echo kept > file")
        await sandboxes.pause(running.id)
        await sandboxes.rest()
        assert container_status(engine, running.id) == "paused", "an hour has not passed"

    # A restarted server knows when the sleep began. This server also stops its containers when it ends.
    changes = {"sandbox_frozen_minutes": 0, "stop_sandboxes_on_exit": True}
    docker_house.config = docker_house.config.model_copy(update=changes)
    async with docker_house.open_sandboxes() as sandboxes:
        await sandboxes.rest()
        assert container_status(engine, running.id) == "exited"
        assert await status_of(docker_house, running.id) == SandboxStatus.PAUSED

        await sandboxes.wake(running.id)
        assert await shell(sandboxes.running(running.id), "cat file") == "kept\n"
        await sandboxes.pause(running.id)
        assert container_status(engine, running.id) == "paused"

    assert container_status(engine, running.id) == "exited"


async def status_of(house: House, sandbox_id: UUID) -> SandboxStatus:
    row = await house.row(sandbox_id)
    assert row is not None
    return SandboxStatus(row.status)


def container_status(engine: DockerClient, sandbox_id: UUID) -> str:
    return str(engine.containers.get(name_of(sandbox_id)).status)
