"""Sandboxes that are containers: their isolation."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest
from docker import DockerClient

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.docker.network import BRIDGE
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import (
    MEMORY_BYTES,
    PIDS,
    House,
    clear,
    docker_config,
    eventually,
    name_of,
    new_house,
    nothing,
    shell,
    ways_to,
)
from tests.support.migrated import in_a_loop
from tests.support.sandbox_image import sandbox_image

pytestmark = pytest.mark.docker


@dataclass
class Resident:
    """A container that outlives the app servers of the tests that look at it."""

    config: Config
    user_id: UUID
    sandbox_id: UUID

    def house(self) -> House:
        return House(self.config, Database(self.config.resolved_database_url), self.user_id)


@dataclass
class Visit:
    """An app server that has adopted the resident container."""

    house: House
    sandboxes: Sandboxes
    running: RunningSandbox


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resident]:
    sandbox_image()
    found: list[Resident] = []
    config = docker_config(tmp_path_factory.mktemp("resident") / "home")

    async def move_in() -> None:
        house = await new_house(config)
        async with house.open_sandboxes() as sandboxes:
            running = await house.start(sandboxes)
        await house.database.close()
        found.append(Resident(config, house.user_id, running.id))

    async def move_out() -> None:
        await clear(found[0].house())

    in_a_loop(move_in())
    yield found[0]
    in_a_loop(move_out())


@pytest.fixture
async def visit(resident: Resident) -> AsyncIterator[Visit]:
    house = resident.house()
    async with house.open_sandboxes() as sandboxes:
        running = await sandboxes.bring_up(resident.sandbox_id, house.reports.append)
        yield Visit(house, sandboxes, running)
    await house.database.close()


async def test_a_container_runs_without_any_privilege(visit: Visit, engine: DockerClient) -> None:
    running = visit.running
    lines = (await shell(running, "cat /proc/self/status")).splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    host = engine.containers.get(name_of(running.id)).attrs["HostConfig"]
    server = (await shell(running, "cat /proc/$PPID/status")).splitlines()
    of_server = dict(line.split(":\t", 1) for line in server if ":\t" in line)

    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split() == ["10001"] * 4
    assert {int(of_server[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert of_server["Uid"].split() == ["10000", "10001", "10000", "10001"]
    assert host["Memory"] == host["MemorySwap"] == MEMORY_BYTES
    assert (host["PidsLimit"], host["NanoCpus"]) == (PIDS, 2_000_000_000)
    assert host["RestartPolicy"]["Name"] in {"", "no"}
    assert host["LogConfig"]["Config"] == {"max-size": "10m", "max-file": "2"}
    assert not host["Privileged"]
    assert not host["Binds"] or not [bind for bind in host["Binds"] if bind.startswith("/")]
    assert await shell(running, "find / -xdev -type s 2>/dev/null; true") == "", "a socket of the host"


async def test_only_workspace_home_and_tmp_can_be_written(visit: Visit) -> None:
    running = visit.running

    assert (
        await shell(
            running, "for d in / /usr /opt/slipway /etc; do touch $d/x 2>/dev/null && echo $d; done; true"
        )
        == ""
    )
    assert await shell(running, "touch /workspace/project/x ~/x /tmp/x && pwd") == "/workspace/project\n"


async def test_a_container_reaches_neither_other_sandboxes_nor_other_networks(
    visit: Visit, engine: DockerClient
) -> None:
    running, image = visit.running, engine.containers.get(name_of(visit.running.id)).image
    neighbour = await visit.house.start(visit.sandboxes)
    outside = engine.containers.run(
        image, ["python3", "-m", "http.server", "8000"], entrypoint=[], detach=True, remove=True
    )
    try:
        outside.reload()
        address = outside.attrs["NetworkSettings"]["IPAddress"]
        places = [f"{neighbour.client.url}/health", f"http://{address}:8000/"]
        assert await reached(running, places) == []
    finally:
        outside.remove(force=True)
        await visit.sandboxes.delete(neighbour.id)

    assert engine.networks.get("slipway-sandboxes").attrs["Internal"]


async def reached(running: RunningSandbox, urls: list[str]) -> list[str]:
    """Those that answer a sandbox, asked side by side. Its own agent server does."""
    own = "http://127.0.0.1:8000/health"
    attempts = [
        f"(curl -sS -o /dev/null --noproxy '*' --max-time 2 {url} 2>/dev/null && echo {url}) &"
        for url in [own, *urls]
    ]
    answered = (await shell(running, "\n".join([*attempts, "wait"]))).split()
    assert own in answered
    return [url for url in answered if url != own]


async def test_a_container_reaches_the_inner_listener(visit: Visit) -> None:
    [address] = visit.sandboxes.inner_addresses()
    listener = await asyncio.start_server(hello, address, visit.house.config.inner_port)
    async with listener:
        url = f"{visit.running.inner_url}/health"
        assert await shell(visit.running, f"curl -sS --max-time 5 {url}") == "hello"


async def test_no_other_port_of_this_host_answers_containers(visit: Visit) -> None:
    [gateway] = visit.sandboxes.inner_addresses()
    everywhere = await asyncio.start_server(hello, "0.0.0.0", 0)
    async with everywhere:
        port = everywhere.sockets[0].getsockname()[1]
        addresses = [gateway, *await addresses_of_this_host()]
        assert await reached(visit.running, [f"http://{each}:{port}/" for each in addresses]) == []

    assert visit.sandboxes.describe().warning is None


@pytest.mark.usefixtures("host_left_open")
async def test_a_way_to_the_host_is_found_at_start_and_announced(docker_house: House) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        # There must be an image to try it with.
        await docker_house.start(sandboxes)

        async def is_announced() -> bool:
            return sandboxes.describe().warning is not None

        await eventually(is_announced, step=nothing)
        warning = str(sandboxes.describe().warning)

    assert "services that this machine offers" in warning
    assert "you must be root" in warning
    assert f"iptables -I INPUT -i {BRIDGE}" in warning


async def addresses_of_this_host() -> list[str]:
    process = await asyncio.create_subprocess_exec("hostname", "-I", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return [address for address in output.decode().split() if ":" not in address]


async def test_a_command_that_uses_up_the_memory_ends_alone_and_is_counted(
    visit: Visit, engine: DockerClient
) -> None:
    running = visit.running
    started = engine.containers.get(name_of(running.id)).attrs["State"]["StartedAt"]
    bomb = await running.client.execute_command("python3 -c 'x = bytearray(2 * 1024**3)'")
    counted = await shell(
        running,
        "cd /opt/slipway/runtime && python3 -c 'from agent_runtime.workspace.out_of_memory import kills; "
        "print(kills())'",
    )

    assert bomb.exit_code in {137, -9}
    assert int(counted) >= 1
    assert engine.containers.get(name_of(running.id)).attrs["State"]["StartedAt"] == started


async def test_a_sandbox_that_the_memory_killer_ended_says_so(
    docker_house: House, engine: DockerClient
) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        container = engine.containers.get(name_of(running.id))
        await running.client.execute_command("python3 -c 'x = bytearray(2 * 1024**3)'")
        container.kill("SIGKILL")
        words = await sandboxes._machines.backend.last_words(running.id)

        assert words.code == "sandbox_out_of_memory"
        assert "SLIPWAY_SANDBOX_MEMORY_BYTES" in words.fix


async def test_containers_run_in_the_runtime_that_was_asked_for(
    docker_house: House, engine: DockerClient
) -> None:
    named = next(name for name in engine.info()["Runtimes"] if name != engine.info()["DefaultRuntime"])
    running_before = docker_house.config.model_copy(update={"sandbox_runtime": named})
    docker_house.config = running_before
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)

        assert engine.containers.get(name_of(running.id)).attrs["HostConfig"]["Runtime"] == named


async def test_a_runtime_that_the_engine_lacks_is_named_with_its_fix(docker_house: House) -> None:
    docker_house.config = docker_house.config.model_copy(update={"sandbox_runtime": "no-such-runtime"})
    async with docker_house.open_sandboxes() as sandboxes:
        sandbox_id = await docker_house.create(sandboxes)
        with pytest.raises(StartFailure) as failure:
            await sandboxes.bring_up(sandbox_id, docker_house.reports.append)
        await sandboxes.delete(sandbox_id)

    assert failure.value.code == "sandbox_runtime_missing"
    assert "daemon.json" in failure.value.fix


async def hello(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def test_the_session_key_stands_nowhere_inside(visit: Visit, engine: DockerClient) -> None:
    running = visit.running
    key = running.client._headers["X-Session-API-Key"]
    seen = await shell(
        running, "env; cat /proc/[0-9]*/environ 2>/dev/null; cat /workspace/.session-key 2>&1; true"
    )
    refusal = await running.client.execute_command("cat /workspace/.session-key")

    assert key not in seen
    assert refusal.exit_code != 0
    assert await ways_to(running, key) == set()
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


async def test_home_stays_and_tmp_is_emptied_and_neither_is_memory(
    slim_house: House, engine: DockerClient
) -> None:
    async with slim_house.open_sandboxes() as sandboxes:
        running = await slim_house.start(sandboxes)
        await shell(running, "echo kept > ~/file && echo lost > ~/.cache/file && fallocate -l 1G /tmp/large")
        systems = await shell(running, "stat -f -c %T /tmp/ ~/")
        container = engine.containers.get(name_of(running.id))
        memory = container.stats(stream=False)["memory_stats"].get("usage", 0)
        container.stop(timeout=5)
        revived = await sandboxes.bring_up(running.id, slim_house.reports.append)
        after = await shell(revived, "cat ~/file ~/.cache/file && ls /tmp | grep large; echo $?")
        await sandboxes.archiving.archive(running.id)
        again = await sandboxes.bring_up(running.id, slim_house.reports.append)
        restored = await shell(again, "cat ~/file; ls ~/.cache; stat -c '%U %a' ~/; command -v python uv")

    assert memory < 512 * 1024**2
    assert "tmpfs" not in systems
    assert after == "kept\nlost\n1\n"
    assert restored == "kept\nagent 700\n/home/agent/.venv/bin/python\n/opt/slipway/commands/bin/uv\n"


async def test_what_the_agent_puts_first_on_its_path_is_not_run_as_another_user(
    slim_house: House, engine: DockerClient
) -> None:
    spy = "printf '#!/bin/sh\\n/usr/bin/id -u >> /workspace/project/seen\\nexec /usr/bin/%s \"$@\"\\n'"
    async with slim_house.open_sandboxes() as sandboxes:
        running = await slim_house.start(sandboxes)
        await shell(
            running,
            f"for name in id cat rm cp mkdir setpriv ln chmod sh; do {spy} $name > ~/.venv/bin/$name;"
            " chmod 755 ~/.venv/bin/$name; done; rm -rf ~/.local; ln -s /workspace/conversations ~/.local",
        )
        await shell(running, "/bin/rm -f seen")
        engine.containers.get(name_of(running.id)).stop(timeout=5)
        revived = await sandboxes.bring_up(running.id, slim_house.reports.append)
        seen = await shell(
            revived, "/bin/cat seen 2>/dev/null; /bin/ls /workspace/conversations/bin 2>&1; true"
        )

    assert "0" not in seen.split()
    assert "10000" not in seen.split()
    assert "No such file" in seen


async def test_sandboxes_say_that_they_isolate_and_where_they_report_to(visit: Visit) -> None:
    kind = visit.sandboxes.describe()
    [address] = visit.sandboxes.inner_addresses()

    assert (kind.backend, kind.is_isolated, kind.warning) == ("docker", True, None)
    assert visit.running.inner_url == f"http://{address}:{visit.house.config.inner_port}"


async def test_a_restarted_app_server_adopts_the_running_container(
    resident: Resident, engine: DockerClient
) -> None:
    seen = set()
    for _ in range(2):
        house = resident.house()
        async with house.open_sandboxes() as sandboxes:
            adopted = await sandboxes.bring_up(resident.sandbox_id, house.reports.append)
            started = engine.containers.get(name_of(adopted.id)).attrs["State"]["StartedAt"]
            seen.add((adopted.client.url, started))

            assert await adopted.client.is_healthy()
        await house.database.close()

    assert len(seen) == 1


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
