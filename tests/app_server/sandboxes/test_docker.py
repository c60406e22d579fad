"""Sandboxes that are containers: what holds them in, and what brings them back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import UUID

import docker
import pytest
from docker import DockerClient

from app_server.config import Config
from app_server.errors import Conflict, StartFailure
from app_server.sandboxes.models import SandboxStatus
from app_server.sandboxes.service import RunningSandbox, Sandboxes
from tests.app_server.sandboxes.conftest import House, eventually, free_port, open_house

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

MEMORY_BYTES = 512 * 1024**2


@pytest.fixture
async def docker_house(tmp_path: Path) -> AsyncIterator[House]:
    config = Config(
        home=tmp_path / "home",
        sandbox="docker",
        inner_port=free_port(),
        sandbox_memory_bytes=MEMORY_BYTES,
        sandbox_pids=200,
    )
    async with open_house(config) as house:
        yield house


@pytest.fixture
def engine() -> Iterator[DockerClient]:
    client = docker.from_env(version="auto")
    yield client
    client.close()


def name_of(sandbox_id: UUID) -> str:
    return f"slipway-sandbox-{sandbox_id.hex}"


async def shell(running: RunningSandbox, command: str) -> str:
    """What `command` wrote, after it ended well."""
    output = await running.client.execute_command(command, cwd=running.working_root)
    assert output.exit_code == 0, f"{command}: {output.stdout} {output.stderr}"
    return output.stdout or ""


async def test_a_container_runs_without_any_privilege(docker_house: House, engine: DockerClient) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        lines = (await shell(running, "cat /proc/self/status")).splitlines()
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        host = engine.containers.get(name_of(running.id)).attrs["HostConfig"]

        assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
        assert status["NoNewPrivs"] == "1"
        assert status["Seccomp"] == "2"
        assert status["Uid"].split() == ["10001"] * 4
        assert host["Memory"] == host["MemorySwap"] == MEMORY_BYTES
        assert (host["PidsLimit"], host["NanoCpus"]) == (200, 2_000_000_000)
        assert host["RestartPolicy"]["Name"] in {"", "no"}


async def test_only_workspace_home_and_tmp_can_be_written(docker_house: House) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)

        assert (
            await shell(
                running, "for d in / /usr /opt/slipway /etc; do touch $d/x 2>/dev/null && echo $d; done; true"
            )
            == ""
        )
        assert await shell(running, "touch /workspace/project/x ~/x /tmp/x && pwd") == "/workspace/project\n"


async def test_a_container_reaches_neither_other_sandboxes_nor_other_networks(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        neighbour = await docker_house.start(sandboxes)
        image = engine.containers.get(name_of(running.id)).image
        outside = engine.containers.run(
            image, ["python3", "-m", "http.server", "8000"], entrypoint=[], detach=True, remove=True
        )
        try:
            outside.reload()
            address = outside.attrs["NetworkSettings"]["IPAddress"]
            for url in (f"{neighbour.client.url}/health", f"http://{address}:8000/"):
                attempt = await running.client.execute_command(f"curl -sS --max-time 2 {url}")
                assert attempt.exit_code not in {0, None}, f"{url} was reached"
        finally:
            outside.remove(force=True)

        assert engine.networks.get("slipway-sandboxes").attrs["Internal"]


async def test_a_container_reaches_the_inner_listener(docker_house: House) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        [address] = sandboxes.inner_addresses()
        listener = await asyncio.start_server(hello, address, docker_house.config.inner_port)
        async with listener:
            assert await shell(running, f"curl -sS --max-time 5 {running.inner_url}/health") == "hello"


async def hello(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def test_the_session_key_stands_nowhere_inside(docker_house: House, engine: DockerClient) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        key = running.client._headers["X-Session-API-Key"]
        seen = await shell(
            running, "env; cat /proc/[0-9]*/environ 2>/dev/null; cat /workspace/.session-key 2>&1; true"
        )
        refusal = await running.client.execute_command("cat /workspace/.session-key")

        assert key not in seen
        assert refusal.exit_code != 0
        assert key not in str(engine.containers.get(name_of(running.id)).attrs)


async def test_modules_of_the_repository_do_not_stand_in_for_the_runtimes(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "echo 'raise SystemExit(3)' | tee json.py logging.py agent_runtime.py")
        engine.containers.get(name_of(running.id)).stop(timeout=5)
        revived = await sandboxes.bring_up(running.id, docker_house.reports.append)

        assert await shell(revived, "ls") == "agent_runtime.py\njson.py\nlogging.py\n"


async def test_a_killed_container_comes_back_with_its_workspace(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        await shell(running, "echo kept > file")
        container = engine.containers.get(name_of(running.id))
        container.kill("SIGKILL")

        async def is_back() -> bool:
            container.reload()
            return container.status == "running" and await is_up(sandboxes, running.id)

        await eventually(is_back, step=sandboxes.check)
        revived = await sandboxes.bring_up(running.id, docker_house.reports.append)

        assert await shell(revived, "cat file") == "kept\n"


async def test_a_restarted_app_server_adopts_the_running_container(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as first:
        running = await docker_house.start(first)
        started = engine.containers.get(name_of(running.id)).attrs["State"]["StartedAt"]
    async with docker_house.open_sandboxes() as second:
        adopted = await second.bring_up(running.id, docker_house.reports.append)

        assert adopted.client.url == running.client.url
        assert engine.containers.get(name_of(running.id)).attrs["State"]["StartedAt"] == started


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


async def test_sandboxes_say_that_they_isolate_and_where_they_report_to(docker_house: House) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        kind = sandboxes.describe()
        [address] = sandboxes.inner_addresses()
        running = await docker_house.start(sandboxes)

        assert (kind.backend, kind.is_isolated, kind.warning) == ("docker", True, None)
        assert running.inner_url == f"http://{address}:{docker_house.config.inner_port}"


async def test_an_unknown_image_is_named_with_its_fix(docker_house: House) -> None:
    docker_house.config = docker_house.config.model_copy(update={"sandbox_image": "nowhere/no-such-image:1"})
    async with docker_house.open_sandboxes() as sandboxes:
        sandbox_id = await docker_house.create(sandboxes)
        with pytest.raises(StartFailure) as failure:
            await sandboxes.bring_up(sandbox_id, docker_house.reports.append)
        row = await docker_house.row(sandbox_id)

        assert failure.value.code == "sandbox_image_missing"
        assert "docker pull nowhere/no-such-image:1" in failure.value.fix
        assert row is not None
        assert row.status == SandboxStatus.ERROR
        await sandboxes.delete(sandbox_id)


async def is_up(sandboxes: Sandboxes, sandbox_id: UUID) -> bool:
    try:
        sandboxes.client(sandbox_id)
    except Conflict:
        return False
    return True
