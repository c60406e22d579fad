"""Tests of the end of process sandboxes: how they are stopped, sleep, and are refused."""

import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from app_server.cli.sandbox_inventory import open_inventory
from app_server.core.config import Config
from app_server.core.errors import Conflict, NotFound, StartFailure, Unavailable
from app_server.sandbox_backends.process.backend import ProcessBackend
from app_server.sandbox_records.models import SandboxStatus
from tests.app_server.sandboxes.conftest import House, eventually, open_house, shell
from tests.app_server.sandboxes.process_house import folder_of, handle_of, is_running, is_up
from tests.support.ports import free_port


@pytest.fixture(
    params=["none", pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)], ids=["plain", "walled"]
)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    config = Config(
        home=tmp_path / "home", sandbox="process", process_isolation=request.param, inner_port=free_port()
    )
    async with open_house(config) as house:
        yield house


@contextmanager
def a_stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as stranger:
        yield stranger
        stranger.kill()


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_another_process_with_a_reused_pid_is_never_killed(house: House) -> None:
    async with house.open_sandboxes() as first:
        running = await house.start(first)
    # Now, so that it starts in a later tick of the clock: nothing else tells it from the agent server.
    with a_stranger() as stranger:
        handle_file = folder_of(house, running.id) / "process.json"
        handle_file.write_text(json.dumps(handle_of(house, running.id) | {"pid": stranger.pid}))
        async with house.open_sandboxes() as second:
            await second.delete(running.id)

            assert stranger.poll() is None
            assert not handle_file.exists()


async def test_a_copied_home_leaves_the_agent_servers_of_the_original_alone(house: House) -> None:
    original = house.config.home
    async with house.open_sandboxes() as first:
        running = await house.start(first)
        await running.client.execute_command("echo mine > file")
        pid = handle_of(house, running.id)["pid"]
        copy = original.with_name("copy")
        shutil.copytree(original, copy, symlinks=True)
        house.config = house.config.model_copy(update={"home": copy, "inner_port": free_port()})
        async with house.open_sandboxes() as second:
            again = await second.bring_up(running.id, house.reports.append)

            assert is_running(pid)
            assert handle_of(house, running.id)["pid"] != pid
            assert again.client.url != running.client.url
            assert (await again.client.execute_command("cat file")).stdout == "mine\n"
        assert is_running(pid)
        house.config = house.config.model_copy(update={"home": original})


async def test_keys_of_the_app_server_do_not_reach_a_sandbox(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLIPWAY_CANARY_KEY", "sk-canary-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-2")
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        environment = environment_of(handle_of(house, running.id)["pid"])
        seen = await running.client.execute_command("env; cat /proc/$PPID/environ")

        assert b"canary" not in environment
        assert "canary" not in f"{seen.stdout}{seen.stderr}"


async def test_deleting_removes_process_files_and_row_and_may_be_repeated(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        await running.client.execute_command("sleep 300 &", cwd=running.working_root)
        pid = handle_of(house, running.id)["pid"]
        await sandboxes.delete(running.id)
        await sandboxes.delete(running.id)

        assert not is_running(pid)
        assert not folder_of(house, running.id).exists()
        assert await house.row(running.id) is None
        with pytest.raises(Conflict):
            sandboxes.client(running.id)


async def test_an_unknown_sandbox_cannot_be_started(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        with pytest.raises(NotFound):
            await sandboxes.bring_up(uuid4(), house.reports.append)


async def test_a_start_that_the_machine_refuses_is_explained_and_can_be_retried(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        sandbox_id = await house.create(sandboxes)
        obstacle = folder_of(house, sandbox_id) / "workspace"
        obstacle.parent.mkdir()
        obstacle.write_text("a file where the folder ought to be")
        with pytest.raises(StartFailure) as failure:
            await sandboxes.bring_up(sandbox_id, house.reports.append)
        row = await house.row(sandbox_id)

        assert failure.value.code == "sandbox_home_unusable"
        assert str(obstacle.parent) in failure.value.fix
        assert row is not None
        assert row.status == SandboxStatus.ERROR
        assert row.error == {
            "code": failure.value.code,
            "cause": failure.value.cause,
            "fix": failure.value.fix,
            "output": "",
        }
        obstacle.unlink()
        await sandboxes.bring_up(sandbox_id, house.reports.append)
        assert await is_up(sandboxes, sandbox_id)


async def test_a_paused_sandbox_ends_keeps_its_files_and_wakes(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        await running.client.execute_command("echo kept > file", cwd=running.working_root)
        pid = handle_of(house, running.id)["pid"]
        await sandboxes.pause(running.id)
        row = await house.row(running.id)
        assert row is not None
        assert row.status == SandboxStatus.PAUSED
        assert not is_running(pid)
        await sandboxes.check()
        assert not await is_up(sandboxes, running.id), "the monitor must let it sleep"

        await sandboxes.wake(running.id)
        output = await sandboxes.client(running.id).execute_command("cat file", cwd=running.working_root)
        assert output.stdout == "kept\n"


async def test_only_sandboxes_that_idle_for_long_are_put_to_sleep(house: House) -> None:
    for minutes, is_asleep in ((600.0, False), (1e-6, True)):
        house.config = house.config.model_copy(update={"sandbox_idle_minutes": minutes})
        async with house.open_sandboxes() as sandboxes:
            running = await house.start(sandboxes)
            await sandboxes.rest()
            row = await house.row(running.id)

            assert row is not None
            assert (row.status == SandboxStatus.PAUSED) is is_asleep


async def test_a_sandbox_that_got_work_while_another_fell_asleep_stays_awake(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.config = house.config.model_copy(update={"sandbox_idle_minutes": 1e-6})
    async with house.open_sandboxes() as sandboxes:
        started = [await house.start(sandboxes) for _ in range(2)]
        freeze, frozen = ProcessBackend.freeze, list[UUID]()

        async def busy() -> float:
            return 0.0

        async def send_to_the_other(backend: ProcessBackend, sandbox_id: UUID) -> None:
            frozen.append(sandbox_id)
            for running in started:
                if running.id != sandbox_id:
                    monkeypatch.setattr(running.client, "idle_seconds", busy)
            await freeze(backend, sandbox_id)

        monkeypatch.setattr(ProcessBackend, "freeze", send_to_the_other)
        await sandboxes.rest()

        [other] = [running for running in started if running.id not in frozen[:1]]
        assert frozen == [each.id for each in started if each is not other]
        row = await house.row(other.id)
        assert row is not None
        assert row.status == SandboxStatus.RUNNING
        assert sandboxes.running(other.id) is other
        assert await other.client.is_healthy()


async def test_a_sandbox_that_cannot_be_paused_runs_on_and_is_paused_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.config = house.config.model_copy(update={"sandbox_idle_minutes": 1e-6})

    async def fail(*_: object) -> None:
        raise StartFailure("docker_unavailable", "The engine does not answer.", fix="Start it.")

    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        with monkeypatch.context() as failing:
            failing.setattr(ProcessBackend, "freeze", fail)
            with pytest.raises(Unavailable):
                await sandboxes.pause(running.id)
            await sandboxes.rest()

        row = await house.row(running.id)
        assert row is not None
        assert row.status == SandboxStatus.RUNNING
        assert sandboxes.running(running.id) is running
        await sandboxes.rest()
        row = await house.row(running.id)
        assert row is not None
        assert row.status == SandboxStatus.PAUSED
        assert not await running.client.responds()


async def test_a_sandbox_that_a_terminal_stopped_is_not_revived_by_the_server(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        async with open_inventory(house.config) as inventory:
            [entry] = await inventory.entries()
            assert (entry.id, entry.status, entry.runs) == (running.id, SandboxStatus.RUNNING, True)
            assert "Application startup complete" in (await inventory.last_words(running.id.hex[:8])).output
            assert await inventory.stop(str(running.id)) == running.id
            [entry] = await inventory.entries()
            assert (entry.status, entry.runs) == (SandboxStatus.PAUSED, False)
            with pytest.raises(NotFound, match="No sandboxes begin"):
                await inventory.stop("feed")
        await sandboxes.check()
        assert not await is_up(sandboxes, running.id)

        await sandboxes.resume(running.id)
        await eventually(lambda: is_up(sandboxes, running.id), step=sandboxes.check)


async def test_a_workspace_that_holds_too_much_stops_its_sandbox_until_it_is_cleared_away(
    house: House,
) -> None:
    house.config = house.config.model_copy(update={"sandbox_disk_bytes": 256 * 1024**2})
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)

        async def is_stopped() -> bool:
            return (row := await house.row(running.id)) is not None and row.status == SandboxStatus.ERROR

        await sandboxes.measure()
        assert not await is_stopped()
        await shell(running, "fallocate -l 300M filler")
        await eventually(is_stopped, step=sandboxes.measure)
        row = await house.row(running.id)
        assert row is not None
        assert row.error is not None
        assert row.error["code"] == "sandbox_workspace_full"
        assert "0.3 GiB" in row.error["cause"]

        # After it is woken, the user can delete files. If it grows further, it is stopped again.
        await sandboxes.resume(running.id)
        woken = await sandboxes.bring_up(running.id, house.reports.append)
        await shell(woken, "fallocate -l 100M more")
        await eventually(is_stopped, step=sandboxes.measure)
        await sandboxes.resume(running.id)
        woken = await sandboxes.bring_up(running.id, house.reports.append)
        await shell(woken, "rm filler more")
        await sandboxes.measure()
        assert not await is_stopped()
