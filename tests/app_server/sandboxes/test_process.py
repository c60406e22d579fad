"""Sandboxes that are processes: what they have in common with walls around them and without."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from app_server.cli.sandbox_inventory import open_inventory
from app_server.core.config import Config
from app_server.core.errors import Conflict, NotFound, StartFailure
from app_server.sandbox_lifecycle.monitor import MAX_RESTARTS
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House, eventually, open_house, shell
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


def folder_of(house: House, sandbox_id: UUID) -> Path:
    return house.config.home / "sandboxes" / sandbox_id.hex


def handle_of(house: House, sandbox_id: UUID) -> dict[str, int]:
    handle: dict[str, int] = json.loads((folder_of(house, sandbox_id) / "process.json").read_text())
    return handle


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def is_free(pipe: int) -> bool:
    """Whether nobody has it open for writing any more."""
    try:
        return not os.read(pipe, 65536)
    except BlockingIOError:
        return False


async def exists(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


async def nothing() -> None:
    """A step of `eventually` that only waits."""


async def test_a_sandbox_answers_once_it_is_up(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        output = await running.client.execute_command("pwd", cwd=running.working_root)
        row = await house.row(running.id)

        assert (output.exit_code, output.stdout) == (0, f"{running.working_root}\n")
        assert row is not None
        assert row.status == SandboxStatus.RUNNING
        assert sandboxes.client(running.id).url == running.client.url
        assert running.inner_url == f"http://127.0.0.1:{house.config.inner_port}"
        assert "Starting the agent server" in house.reports


async def test_a_sandbox_that_is_deleted_while_its_process_is_launched_leaves_nothing(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        sandbox_id = await house.create(sandboxes)
        folder = folder_of(house, sandbox_id)
        folder.mkdir(parents=True)
        # The launch waits for somebody to read its log, as it would for a busy disk.
        os.mkfifo(log := folder / "agent-server.log")
        starting = asyncio.create_task(sandboxes.bring_up(sandbox_id, house.reports.append))
        await eventually(lambda: exists(folder / "workspace"), step=nothing)

        starting.cancel()
        deleting = asyncio.create_task(sandboxes.delete(sandbox_id))
        pipe = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        results = await asyncio.gather(starting, deleting, return_exceptions=True)

        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1] is None
        assert await house.row(sandbox_id) is None
        assert not folder.exists()
        await eventually(lambda: is_free(pipe), step=nothing)
        os.close(pipe)


async def test_bringing_up_twice_changes_nothing(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        before = handle_of(house, running.id)
        await sandboxes.bring_up(running.id, house.reports.append)

        assert handle_of(house, running.id) == before


async def test_a_killed_app_server_leaves_sandboxes_that_its_successor_adopts(house: House) -> None:
    async with house.open_sandboxes(close=False) as first:
        running = await house.start(first)
        before = handle_of(house, running.id)
    async with house.open_sandboxes() as second:
        with pytest.raises(Conflict) as refusal:
            second.client(running.id)
        adopted = await second.bring_up(running.id, house.reports.append)

        assert refusal.value.code == "sandbox_not_running"
        assert adopted.client.url == running.client.url
        assert handle_of(house, running.id) == before


async def test_a_graceful_end_stops_sandboxes_and_the_next_start_revives_them(house: House) -> None:
    async with house.open_sandboxes() as first:
        running = await house.start(first)
        before = handle_of(house, running.id)
    stopped = await house.row(running.id)
    assert stopped is not None
    assert stopped.status == SandboxStatus.RUNNING
    assert not is_running(before["pid"])

    async with house.open_sandboxes() as second:
        await eventually(lambda: is_up(second, running.id), step=second.check)

        assert handle_of(house, running.id)["port"] == before["port"]


async def test_a_killed_agent_server_is_restarted_on_the_same_workspace_and_port(house: House) -> None:
    changed: list[UUID] = []

    async def on_change(sandbox_id: UUID) -> None:
        changed.append(sandbox_id)

    async with house.open_sandboxes() as sandboxes:
        sandboxes.listen(on_change=on_change)
        running = await house.start(sandboxes)
        await running.client.execute_command("echo kept > file", cwd=running.working_root)
        before = handle_of(house, running.id)
        os.kill(before["pid"], signal.SIGKILL)
        await eventually(lambda: is_back(house, sandboxes, running.id, before["pid"]), step=sandboxes.check)
        output = await sandboxes.client(running.id).execute_command("cat file", cwd=running.working_root)

        assert output.stdout == "kept\n"
        assert handle_of(house, running.id)["port"] == before["port"]
        assert changed == [running.id, running.id]


async def test_another_port_is_chosen_when_the_old_one_is_taken(house: House) -> None:
    async with house.open_sandboxes() as first:
        running = await house.start(first)
        port = handle_of(house, running.id)["port"]
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        async with house.open_sandboxes() as second:
            again = await second.bring_up(running.id, house.reports.append)

            assert again.client.url != running.client.url


async def test_a_port_is_the_sandboxes_own_before_its_agent_server_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(
        home=tmp_path / "home", sandbox="process", process_isolation="none", inner_port=free_port()
    )
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    slow_python = tmp_path / "python"
    slow_python.write_text(f'#!/bin/sh\nread _ < {go_on}\nexec {sys.executable} "$@"\n')
    slow_python.chmod(0o700)
    async with open_house(config) as house, house.open_sandboxes() as sandboxes:
        sandbox_id = await house.create(sandboxes)
        with monkeypatch.context() as slow:
            slow.setattr(sys, "executable", str(slow_python))
            starting = asyncio.create_task(sandboxes.bring_up(sandbox_id, house.reports.append))
            await eventually(lambda: exists(folder_of(house, sandbox_id) / "process.json"), step=nothing)
        port = handle_of(house, sandbox_id)["port"]
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", port)).close()
        await asyncio.to_thread(go_on.write_text, "now\n")
        await starting

        assert await is_up(sandboxes, sandbox_id)
        assert handle_of(house, sandbox_id)["port"] == port


async def test_what_an_agent_starts_does_not_inherit_the_port(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        begun = "sleep 60 </dev/null >/dev/null 2>&1 & echo $!"
        await running.client.execute_command(begun, cwd=running.working_root)
        before = handle_of(house, running.id)
        os.kill(before["pid"], signal.SIGKILL)
        await eventually(lambda: is_back(house, sandboxes, running.id, before["pid"]), step=sandboxes.check)

        assert handle_of(house, running.id)["port"] == before["port"]


@pytest.mark.namespaces
def test_a_machine_without_a_free_port_is_told_so() -> None:
    """In a network of its own, which has one port to give."""
    program = (
        "from app_server.core.errors import StartFailure\n"
        "from app_server.sandbox_backends.process.agent_server_process import listen\n"
        "only = listen(0)\n"
        "try: listen(0)\n"
        "except StartFailure as failure: print(failure.code, only.getsockname()[1])\n"
    )
    own_network = "ip link set lo up && echo 40000 40000 > /proc/sys/net/ipv4/ip_local_port_range && exec "
    told = subprocess.run(
        ["unshare", "--net", "sh", "-c", own_network + '"$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.stdout, told.stderr) == ("sandbox_port_taken 40000\n", "")


async def test_a_crash_loop_ends_in_an_error_that_explains_itself(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)

        async def kill_and_check() -> None:
            pid = handle_of(house, running.id)["pid"]
            if await is_up(sandboxes, running.id) and is_running(pid):
                os.kill(pid, signal.SIGKILL)
            await sandboxes.check()

        async def has_failed() -> bool:
            row = await house.row(running.id)
            return row is not None and row.status == SandboxStatus.ERROR

        await eventually(has_failed, step=kill_and_check)
        row = await house.row(running.id)

        assert row is not None
        assert row.error is not None
        assert row.error["code"] == "agent_server_ended"
        assert f"restarted {MAX_RESTARTS} times" in row.error["cause"]
        assert "Application startup complete" in row.error["output"]
        assert f"POST /api/v1/sandboxes/{running.id.hex}/resume" in row.error["fix"]

        await sandboxes.resume(running.id)
        await eventually(lambda: is_up(sandboxes, running.id), step=sandboxes.check)
        revived = sandboxes.client(running.id)
        assert (await revived.execute_command("true")).exit_code == 0


async def test_a_workspace_of_another_kind_is_never_replaced_by_an_empty_one(house: House) -> None:
    async with house.open_sandboxes() as sandboxes:
        sandbox_id = await house.create(sandboxes)
        async with house.database.session() as session:
            await session.execute(
                update(Sandbox)
                .where(Sandbox.id == sandbox_id)
                .values(spec_id="slipway-sandbox:0123", status=SandboxStatus.RUNNING)
            )
        await sandboxes.check()
        assert not await is_up(sandboxes, sandbox_id)
        with pytest.raises(StartFailure, match="another kind") as failure:
            await sandboxes.bring_up(sandbox_id, house.reports.append)
        assert "SLIPWAY_SANDBOX" in failure.value.fix


async def test_a_stranger_with_a_recycled_pid_is_never_killed(house: House) -> None:
    with a_stranger() as stranger:
        async with house.open_sandboxes() as first:
            running = await house.start(first)
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


async def test_a_sandbox_that_nobody_created_cannot_be_brought_up(house: House) -> None:
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


async def is_up(sandboxes: Sandboxes, sandbox_id: UUID) -> bool:
    try:
        sandboxes.client(sandbox_id)
    except Conflict:
        return False
    return True


async def is_back(house: House, sandboxes: Sandboxes, sandbox_id: UUID, old_pid: int) -> bool:
    return handle_of(house, sandbox_id)["pid"] != old_pid and await is_up(sandboxes, sandbox_id)


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

        # Woken, it can be cleared up; what grows on is stopped anew.
        await sandboxes.resume(running.id)
        woken = await sandboxes.bring_up(running.id, house.reports.append)
        await shell(woken, "fallocate -l 100M more")
        await eventually(is_stopped, step=sandboxes.measure)
        await sandboxes.resume(running.id)
        woken = await sandboxes.bring_up(running.id, house.reports.append)
        await shell(woken, "rm filler more")
        await sandboxes.measure()
        assert not await is_stopped()
