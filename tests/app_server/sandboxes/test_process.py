"""Tests of process sandboxes that are the same with isolation and without it."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import update

from app_server.core.config import Config
from app_server.core.errors import Conflict, StartFailure
from app_server.sandbox_lifecycle.monitor import MAX_RESTARTS
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House, eventually, open_house
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


async def is_free(pipe: int) -> bool:
    """Returns whether no process has the pipe open for writing any more."""
    try:
        return not os.read(pipe, 65536)
    except BlockingIOError:
        return False


async def exists(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


async def nothing() -> None:
    """Does nothing: a step of `eventually` for tests that only wait."""


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
        # The log is a named pipe: the launch waits for a reader, as it would wait for a busy disk.
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
    """Runs in a separate network that has only one free port."""
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


async def is_back(house: House, sandboxes: Sandboxes, sandbox_id: UUID, old_pid: int) -> bool:
    return handle_of(house, sandbox_id)["pid"] != old_pid and await is_up(sandboxes, sandbox_id)
