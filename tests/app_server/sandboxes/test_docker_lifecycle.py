"""Tests of the life of a container sandbox: it is killed, taken over by another server, stopped with its
server, and deleted.
"""

import asyncio
import subprocess
from uuid import UUID

import pytest
from docker import DockerClient

from app_server.agent_client.calls import NoAnswer
from app_server.core.errors import Conflict
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import (
    House,
    eventually,
    name_of,
    nothing,
    shell,
)

pytestmark = pytest.mark.docker


async def test_a_killed_container_comes_back_with_its_workspace_and_its_calls_are_answered(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "echo kept > file")
        container = engine.containers.get(name_of(running.id))
        call = asyncio.create_task(running.client.execute_command("touch begun; sleep 600"))

        async def is_under_way() -> bool:
            return await shell(running, "ls") == "begun\nfile\n"

        await eventually(is_under_way, step=nothing)
        say_no_more(container.attrs["State"]["Pid"])
        container.kill("SIGKILL")

        async def is_back() -> bool:
            container.reload()
            return container.status == "running" and await is_up(sandboxes, running.id)

        await eventually(is_back, step=sandboxes.check)
        with pytest.raises(NoAnswer):
            await asyncio.wait_for(call, 1)
        revived = await sandboxes.bring_up(running.id, docker_house.reports.append)

        assert await shell(revived, "cat file") == "kept\n"


def say_no_more(pid: int) -> None:
    """Drops all packets that leave the network of this process, as when it ends before its connections are
    closed.
    """
    inside = ["nsenter", f"--target={pid}", "--net", "iptables", "-w", "10"]
    subprocess.run([*inside, "-A", "OUTPUT", "-j", "DROP"], check=True)


async def test_containers_that_are_to_end_with_the_server_do_and_come_back_with_it(
    docker_house: House, engine: DockerClient
) -> None:
    docker_house.config = docker_house.config.model_copy(update={"stop_sandboxes_on_exit": True})
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "echo kept > kept.txt")
    assert engine.containers.get(name_of(running.id)).status == "exited"

    async with docker_house.open_sandboxes() as sandboxes:

        async def is_back() -> bool:
            try:
                return await sandboxes.client(running.id).is_healthy()
            except Conflict:
                return False

        await eventually(is_back, step=sandboxes.check)
        again = await sandboxes.bring_up(running.id, docker_house.reports.append)
        assert await shell(again, "cat kept.txt") == "kept\n"


async def test_deleting_removes_container_and_volume_and_may_be_repeated(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await sandboxes.delete(running.id)
        await sandboxes.delete(running.id)
        name = name_of(running.id)

        assert not engine.containers.list(all=True, filters={"name": name})
        assert not engine.volumes.list(filters={"name": name})
        assert await docker_house.row(running.id) is None


async def is_up(sandboxes: Sandboxes, sandbox_id: UUID) -> bool:
    try:
        sandboxes.client(sandbox_id)
    except Conflict:
        return False
    return True
