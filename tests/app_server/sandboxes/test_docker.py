"""Tests of sandboxes in containers: their isolation, and what a hostile command can reach."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest
from docker import DockerClient

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.docker.hardening import hardened
from app_server.sandbox_backends.docker.host_reachability import is_host_reachable
from app_server.sandbox_backends.docker.network import BRIDGE, NETWORK
from app_server.sandbox_images.definition import image_name
from app_server.sandbox_records.models import SandboxStatus
from tests.app_server.sandboxes.conftest import (
    MEMORY_BYTES,
    PIDS,
    House,
    Resident,
    Visit,
    eventually,
    forbid_iptables,
    name_of,
    nothing,
    shell,
    ways_to,
)
from tests.support.live_trees import files_below

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

# Starts processes until the kernel refuses more, then ends them all.
FORK_BOMB = """
import os, signal, time
born = []
try:
    while True:
        child = os.fork()
        if child == 0:
            time.sleep(600)
            os._exit(0)
        born.append(child)
except OSError as error:
    print(len(born), error.strerror)
for child in born:
    os.kill(child, signal.SIGKILL)
"""

SPIED_ON = "id cat rm cp mkdir setpriv ln chmod sh"
SPY = "printf '#!/bin/sh\\n/usr/bin/id -u >> /workspace/project/seen\\nexec /usr/bin/%s \"$@\"\\n'"
SPY_ON_COMMANDS = (
    f"for name in {SPIED_ON}; do {SPY} $name > ~/.venv/bin/$name; chmod 755 ~/.venv/bin/$name; done"
)


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


async def test_a_container_reaches_neither_sandboxes_of_any_runtime_nor_other_networks(
    visit: Visit, engine: DockerClient
) -> None:
    running, image = visit.running, engine.containers.get(name_of(visit.running.id)).image
    runtime = next(name for name in engine.info()["Runtimes"] if name != engine.info()["DefaultRuntime"])
    config = visit.house.config.model_copy(update={"sandbox_runtime": runtime})
    async with replace(visit.house, config=config).open_sandboxes() as with_runtime:
        neighbour = await visit.house.start(with_runtime)
    outside = engine.containers.run(
        image, ["python3", "-m", "http.server", "8000"], entrypoint=[], detach=True, remove=True
    )
    try:
        outside.reload()
        address = outside.attrs["NetworkSettings"]["IPAddress"]
        places = [f"{neighbour.client.url}/health", f"http://{address}:8000/"]
        assert engine.containers.get(name_of(neighbour.id)).attrs["HostConfig"]["Runtime"] == runtime
        assert await reached(running, places) == []
    finally:
        outside.remove(force=True)
        await visit.sandboxes.delete(neighbour.id)

    assert engine.networks.get("slipway-sandboxes").attrs["Internal"]


async def reached(running: RunningSandbox, urls: list[str]) -> list[str]:
    """Returns the URLs that answer a request from the sandbox. All requests are sent at once. Also requests
    the sandbox's own agent server, which must answer.
    """
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
async def test_a_way_to_the_host_is_found_at_start_and_announced(
    slim_house: House, engine: DockerClient
) -> None:
    async with slim_house.open_sandboxes() as sandboxes:
        # The check needs an image to start a container.
        await sandboxes._machines.backend.prepare(slim_house.reports.append)

        async def is_announced() -> bool:
            return sandboxes.describe().warning is not None

        await eventually(is_announced, step=nothing)
        warning = str(sandboxes.describe().warning)
        [gateway] = sandboxes.inner_addresses()

    options = {**hardened(slim_house.config), "network": NETWORK}
    image = image_name(slim_house.config)
    reaches = await asyncio.to_thread(is_host_reachable, engine, image, options, gateway)
    assert not reaches, "the way is open for containers of this test only, not for sandboxes of other tests"
    assert "services that this machine offers" in warning
    assert "you must be root" in warning
    assert f"iptables -I INPUT -i {BRIDGE}" in warning


async def test_rules_that_cannot_be_set_again_are_announced_until_they_are(
    slim_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with slim_house.open_sandboxes() as sandboxes:
        with monkeypatch.context() as patch:
            forbid_iptables(tmp_path, patch)
            await sandboxes.keep_secure()
            warning = str(sandboxes.describe().warning)
        await sandboxes.keep_secure()
        later = sandboxes.describe().warning

    assert "you must be root" in warning
    assert f"iptables -I INPUT -i {BRIDGE}" in warning
    assert later is None


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


async def test_a_container_that_the_memory_killer_ended_says_so_and_starts_again_with_its_home(
    visit: Visit, engine: DockerClient
) -> None:
    running, container = visit.running, engine.containers.get(name_of(visit.running.id))
    await shell(running, "echo kept > ~/file && echo lost > ~/.cache/file && fallocate -l 1G /tmp/large")
    systems = await shell(running, "stat -f -c %T /tmp/ ~/")
    memory = container.stats(stream=False)["memory_stats"].get("usage", 0)
    await shell(running, "echo 'raise SystemExit(3)' | tee json.py logging.py agent_runtime.py")
    await running.client.execute_command("/usr/bin/python3 -c 'x = bytearray(2 * 1024**3)'", cwd="/")
    await shell(running, f"rm -rf ~/.local; ln -s /workspace/conversations ~/.local; {SPY_ON_COMMANDS}")
    await shell(running, "id -u && /bin/grep -q 10001 seen && /bin/rm seen")
    container.kill("SIGKILL")
    words = await visit.sandboxes._machines.backend.last_words(running.id)

    assert words.code == "sandbox_out_of_memory"
    assert "SLIPWAY_SANDBOX_MEMORY_BYTES" in words.fix
    assert memory < 512 * 1024**2
    assert "tmpfs" not in systems

    revived = await visit.sandboxes.bring_up(running.id, visit.house.reports.append)

    # No other user ran the programs that the agent had put first on its PATH.
    seen = await shell(revived, "/bin/cat seen 2>/dev/null; /bin/ls /workspace/conversations/bin 2>&1; true")
    assert not {"0", "10000"} & set(seen.split())
    assert "No such file" in seen
    await shell(revived, f"cd ~/.venv/bin && /bin/rm -f {SPIED_ON} ~/.local ~-/seen")
    assert (
        await shell(revived, "cat ~/file ~/.cache/file && ls /tmp | grep large; echo $?") == "kept\nlost\n1\n"
    )
    # Modules of the repository did not replace the agent runtime's modules.
    assert await shell(revived, "ls *.py && rm *.py") == "agent_runtime.py\njson.py\nlogging.py\n"

    await visit.sandboxes.archiving.archive(running.id)
    restored = await visit.sandboxes.bring_up(running.id, visit.house.reports.append)
    after = await shell(
        restored, "cat ~/file; ls ~/.cache; stat -c '%U %a' ~/; command -v python uv; rm ~/file"
    )
    assert after == "kept\nagent 700\n/home/agent/.venv/bin/python\n/opt/slipway/commands/bin/uv\n"


async def test_a_fork_bomb_ends_at_the_limit_and_the_agent_server_answers(visit: Visit) -> None:
    count, _, reason = (await shell(visit.running, f"python3 -c '{FORK_BOMB}'")).strip().partition(" ")

    assert 0 < int(count) < PIDS
    assert reason == os.strerror(11)
    assert await visit.running.client.is_healthy()


async def test_what_floods_the_container_s_log_is_cut_off(visit: Visit, engine: DockerClient) -> None:
    container = engine.containers.get(name_of(visit.running.id))
    refused = await visit.running.client.execute_command("echo from a command > /proc/1/fd/1")
    assert "Permission denied" in (refused.stderr or "")
    # Few long lines: each line costs the engine more processor time than its bytes.
    flood = "yes $(printf 'nothing at all%.0s' $(seq 300)) | head -c 60000000 > /proc/1/fd/1"
    await asyncio.to_thread(container.exec_run, ["sh", "-c", flood], user="0")
    root = Path(engine.info()["DockerRootDir"], "containers", str(container.id))
    kept = await asyncio.to_thread(size_of, root)

    assert 0 < kept < 25_000_000
    assert await visit.running.client.is_healthy()


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in files_below(folder))


async def test_no_namespace_and_no_mount_can_be_had(visit: Visit) -> None:
    for command in ("unshare --net true", "unshare --user true", "mount -t tmpfs none /mnt"):
        refused = await visit.running.client.execute_command(command)
        assert refused.exit_code not in {0, None}, command


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
