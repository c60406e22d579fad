"""What a hostile command gets out of a container: its own limits, and nothing of this host."""

import asyncio
import os
from pathlib import Path

import pytest
from docker import DockerClient

from tests.app_server.sandboxes.conftest import PIDS, House, name_of, shell
from tests.support.live_trees import files_below

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

# Forks until it is refused, then lets all of them go.
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


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in files_below(folder))


async def test_a_fork_bomb_ends_at_the_limit_and_the_agent_server_answers(docker_house: House) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        count, _, reason = (await shell(running, f"python3 -c '{FORK_BOMB}'")).strip().partition(" ")

        assert 0 < int(count) < PIDS
        assert reason == os.strerror(11)
        assert await running.client.is_healthy()


async def test_what_floods_the_container_s_log_is_cut_off(docker_house: House, engine: DockerClient) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)
        container = engine.containers.get(name_of(running.id))
        refused = await running.client.execute_command("echo from a command > /proc/1/fd/1")
        assert "Permission denied" in (refused.stderr or "")
        flood = "yes 'a line that means nothing at all' | head -c 80000000 > /proc/1/fd/1"
        await asyncio.to_thread(container.exec_run, ["sh", "-c", flood], user="0")
        root = Path(engine.info()["DockerRootDir"], "containers", str(container.id))
        kept = await asyncio.to_thread(size_of, root)

        assert 0 < kept < 25_000_000
        assert await running.client.is_healthy()


async def test_no_namespace_and_no_mount_can_be_had(docker_house: House) -> None:
    async with docker_house.open_sandboxes() as sandboxes:
        running = await docker_house.start(sandboxes)

        for command in ("unshare --net true", "unshare --user true", "mount -t tmpfs none /mnt"):
            refused = await running.client.execute_command(command)
            assert refused.exit_code not in {0, None}, command
