"""Tests of scripts of a repository that run in a sandbox."""

import asyncio
import hashlib
from pathlib import Path

from agent_runtime.wire import ExecutableFile, ProjectExecutable
from app_server.conversations.start.repository_scripts import run_setup_script
from app_server.core.config import Config
from tests.app_server.sandboxes.conftest import open_house, shell
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port


async def test_a_set_up_script_that_a_killed_server_left_running_is_joined(tmp_path: Path) -> None:
    config = Config(
        home=tmp_path / "home", sandbox="process", process_isolation="none", inner_port=free_port()
    )
    async with open_house(config) as house, house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        directory = (await shell(running, "pwd")).strip()
        script = b"echo begun | tee -a begun\nuntil [ -e go ]; do sleep 0.05; done\necho done\n"
        (Path(directory) / "setup.sh").write_bytes(script)
        files = [ExecutableFile(path="setup.sh", sha256=hashlib.sha256(script).hexdigest(), size=len(script))]
        executable = ProjectExecutable(
            kind="setup_script", name="setup.sh", path="setup.sh", hash="0" * 64, files=files
        )
        told: list[str] = []

        async def run() -> str:
            finished = await run_setup_script(running.client, directory, executable, 60, told.append)
            return finished.output

        # This call simulates a killed server. The agent server does not notice that the server is gone, so
        # the call continues.
        left_behind = asyncio.create_task(run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "begun\n" not in told:  # noqa: ASYNC110 (the script tells nobody else)
                await asyncio.sleep(0.01)
        told.clear()
        successor = asyncio.create_task(run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "begun\n" not in told:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        (Path(directory) / "go").touch()

        assert await successor == await left_behind == "begun\ndone\n"
        assert (Path(directory) / "begun").read_text() == "begun\n"
        assert await run() == "begun\ndone\n"
        assert (Path(directory) / "begun").read_text() == "begun\nbegun\n", "one that has ended is run anew"
        await sandboxes.delete(running.id)
