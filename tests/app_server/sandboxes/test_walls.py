"""Tests of process sandboxes with bubblewrap: what it protects, and what is reported if bubblewrap is
missing.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from random import randrange
from uuid import uuid4

import pytest

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.sandbox_backends.process.agent_server_process import read_handle
from app_server.sandbox_backends.process.bubblewrap import find_bubblewrap
from app_server.sandboxes.service import Sandboxes
from tests.app_server.sandboxes.conftest import House, eventually, open_house, ways_to
from tests.support.live_trees import files_with
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port

REPOSITORY = Path(__file__).resolve().parents[3]

walled = pytest.mark.bubblewrap


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Yields an installation with process sandboxes that uses the isolation which this machine offers."""
    config = Config(home=tmp_path / "home", sandbox="process", inner_port=free_port())
    async with open_house(config) as house:
        yield house


@pytest.fixture
async def sandboxes(house: House) -> AsyncIterator[Sandboxes]:
    async with house.open_sandboxes() as sandboxes:
        yield sandboxes


@pytest.fixture
async def running(house: House, sandboxes: Sandboxes) -> RunningSandbox:
    return await house.start(sandboxes)


async def output_of(running: RunningSandbox, command: str) -> str:
    """Runs the command in the sandbox. Returns its standard output and standard error, also if it fails."""
    done = await running.client.execute_command(command, cwd=running.working_root)
    assert done.exit_code is not None, f"{command} did not end"
    return f"{done.stdout or ''}{done.stderr or ''}"


def commands_on_this_machine() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def a_long_sleep() -> str:
    """Returns a command that sleeps for a long time. Its number makes it different from all other commands
    on this machine.
    """
    return f"sleep {randrange(10**8, 10**9)}"  # noqa: S311


async def until_they_run(*commands: str) -> None:
    """Waits until all the commands run. A command in the background may start only after its shell has
    ended.
    """
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not {*commands} <= {*commands_on_this_machine()}:  # noqa: ASYNC110 (processes send no events)
            await asyncio.sleep(0.02)


@walled
async def test_the_homes_of_user_and_app_server_cannot_be_read(
    house: House, running: RunningSandbox, tmp_path: Path
) -> None:
    (house.config.home / "canary.txt").write_text("the-canary")
    (tmp_path / "beside.txt").write_text("the-canary")
    seen = await output_of(
        running, f"cat {house.config.home}/canary.txt {tmp_path}/beside.txt {house.config.database_file}"
    )
    listed = await output_of(running, f"ls -A {house.config.home} {tmp_path}")

    assert "the-canary" not in seen
    assert seen.count("No such file or directory") == 3
    assert {line for line in listed.splitlines() if line and not line.endswith(":")} == {"home", "sandboxes"}


@walled
async def test_of_the_user_s_home_only_what_leads_to_the_interpreter_is_there(
    running: RunningSandbox,
) -> None:
    present = set((await output_of(running, f"ls -A {Path.home()} 2>/dev/null")).split())
    ways = {
        path.relative_to(Path.home()).parts[0] for path in _interpreter() if path.is_relative_to(Path.home())
    }

    assert present <= ways
    assert {name.name for name in Path.home().iterdir()} - present, "this home holds nothing to hide"


@walled
async def test_the_workspace_of_another_sandbox_cannot_be_seen(
    house: House, sandboxes: Sandboxes, running: RunningSandbox
) -> None:
    neighbour = await house.start(sandboxes)
    await output_of(neighbour, "echo private > diary")
    seen = await output_of(running, f"cat {neighbour.working_root}/diary; ls {house.config.home}/sandboxes")

    assert "private" not in seen
    assert seen.split()[0] == running.id.hex
    assert "No such file or directory" in seen


@walled
async def test_nothing_but_workspace_home_and_tmp_can_be_written(running: RunningSandbox) -> None:
    places = ["/", "/usr", "/etc", "/dev", "/proc/sys/kernel", "/var", str(REPOSITORY), sys.prefix]
    # The sandbox has a separate /tmp, which it may write.
    closed = [place for place in places if not Path(place).is_relative_to("/tmp")]  # noqa: S108
    outside = Path("/tmp", uuid4().hex)  # noqa: S108 (the sandbox's own is meant)
    refused = await output_of(
        running, f"for d in {' '.join(places)}; do touch $d/canary 2>/dev/null && echo $d; done; true"
    )
    switches = await output_of(
        running, "find /proc/sys /proc/sysrq-trigger /proc/irq -writable 2>/dev/null | head -3"
    )
    allowed = await output_of(running, f"touch ./x ~/x {outside} /var/tmp/x /dev/shm/x && ls -d {outside}")

    assert not set(refused.split()) & set(closed)
    assert not [place for place in places if await asyncio.to_thread(Path(place, "canary").exists)]
    assert switches == "", "settings of the kernel can be changed"
    assert allowed.strip() == str(outside)
    assert not await asyncio.to_thread(outside.exists)


@walled
async def test_commands_have_no_privilege_and_can_gain_none(running: RunningSandbox) -> None:
    lines = (await output_of(running, "cat /proc/self/status")).splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)

    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    if "--disable-userns" in find_bubblewrap().isolation:
        assert "failed" in await output_of(running, "unshare --user true")


@walled
async def test_processes_and_names_of_the_machine_are_out_of_reach(running: RunningSandbox) -> None:
    seen = await output_of(running, f"hostname; ls -d /proc/[0-9]* | wc -l; kill -0 {os.getpid()}")
    name, count, *refusal = seen.splitlines()

    assert name == "sandbox"
    assert int(count) < 12
    assert "No such process" in "".join(refusal)


@walled
async def test_no_socket_of_an_engine_or_a_desktop_is_there(running: RunningSandbox) -> None:
    assert (
        await output_of(
            running, "find / -xdev -type s 2>/dev/null; ls -A /run 2>/dev/null; ls /var/run 2>/dev/null; true"
        )
        == ""
    )


@walled
async def test_the_session_key_stands_nowhere_inside(running: RunningSandbox) -> None:
    key = running.client._headers["X-Session-API-Key"]
    seen = await output_of(
        running, "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; grep -r slw . ~ /tmp /dev/shm; true"
    )

    assert "PATH=" in seen
    assert key not in seen
    assert await ways_to(running, key) == set()


async def test_a_plain_process_is_not_started_with_its_session_key(house: House) -> None:
    house.config = house.config.model_copy(update={"process_isolation": "none"})
    async with house.open_sandboxes() as sandboxes:
        running = await house.start(sandboxes)
        key = running.client._headers["X-Session-API-Key"]
        server = (await output_of(running, "echo $PPID")).strip()
        shown = await output_of(running, f"cat /proc/{server}/environ /proc/{server}/cmdline")

        assert key not in shown
        folder = house.config.home / "sandboxes"
        assert await asyncio.to_thread(files_with, folder, key) == []


@walled
async def test_whatever_a_command_began_ends_with_the_sandbox(
    sandboxes: Sandboxes, running: RunningSandbox
) -> None:
    apart, deaf = a_long_sleep(), a_long_sleep()
    await output_of(running, f"setsid nohup {apart} >/dev/null 2>&1 & (trap '' TERM; exec {deaf}) & true")
    await until_they_run(apart, deaf)
    await sandboxes.delete(running.id)

    assert not {apart, deaf} & set(commands_on_this_machine())


@walled
async def test_what_a_killed_agent_server_left_is_ended_before_it_comes_back(
    house: House, sandboxes: Sandboxes, running: RunningSandbox
) -> None:
    apart = a_long_sleep()
    await output_of(running, f"setsid nohup {apart} >/dev/null 2>&1 & echo kept > file")
    await until_they_run(apart)
    folder = house.config.home / "sandboxes" / running.id.hex
    before = read_handle(folder)
    assert before is not None
    [server] = [
        pid for pid in _children_of(before.init.pid if before.init else 0) if "agent_runtime" in _command(pid)
    ]
    os.kill(server, signal.SIGKILL)

    async def is_back() -> bool:
        after = read_handle(folder)
        return after is not None and after.pid != before.pid and running.id in sandboxes._machines.running

    await eventually(is_back, step=sandboxes.check)
    revived = await sandboxes.bring_up(running.id, house.reports.append)

    assert await output_of(revived, "cat file") == "kept\n"
    assert apart not in commands_on_this_machine()


@walled
@pytest.mark.parametrize("victim", ["what starts commands", "the first process of the command namespaces"])
async def test_without_its_command_namespaces_an_agent_server_ends_and_comes_back(
    house: House, sandboxes: Sandboxes, running: RunningSandbox, victim: str
) -> None:
    await output_of(running, "echo kept > file")
    folder = house.config.home / "sandboxes" / running.id.hex
    before = read_handle(folder)
    assert before is not None
    assert before.init is not None
    [server] = [pid for pid in _children_of(before.init.pid) if "agent_runtime" in _command(pid)]
    [spawner] = _children_of(server)
    if victim == "what starts commands":
        os.kill(spawner, signal.SIGKILL)
    else:
        [first] = _children_of(spawner)
        os.kill(first, signal.SIGKILL)

    async def is_back() -> bool:
        after = read_handle(folder)
        return after is not None and after.pid != before.pid and running.id in sandboxes._machines.running

    await eventually(is_back, step=sandboxes.check)
    revived = await sandboxes.bring_up(running.id, house.reports.append)

    assert await output_of(revived, "cat file") == "kept\n"


@walled
async def test_a_sandbox_of_a_version_without_a_network_for_commands_is_restarted(house: House) -> None:
    async with house.open_sandboxes(close=False) as first:
        running = await house.start(first)
        folder = house.config.home / "sandboxes" / running.id.hex
        before = read_handle(folder)
        assert before is not None
        older = before.model_dump_json(exclude={"has_own_network"})
        await asyncio.to_thread((folder / "process.json").write_text, older)
    async with house.open_sandboxes() as second:
        await second.bring_up(running.id, house.reports.append)
        after = read_handle(folder)

        assert after is not None
        assert after.pid != before.pid


@walled
async def test_a_sandbox_that_was_started_without_isolation_is_restarted_with_it(house: House) -> None:
    later = house.config
    house.config = later.model_copy(update={"process_isolation": "none"})
    async with house.open_sandboxes(close=False) as first:
        running = await house.start(first)
        await output_of(running, "echo kept > file")
    house.config = later
    async with house.open_sandboxes() as second:
        again = await second.bring_up(running.id, house.reports.append)

        assert await output_of(again, "hostname; cat file") == "sandbox\nkept\n"


@walled
async def test_walled_sandboxes_tell_what_they_share(sandboxes: Sandboxes) -> None:
    kind = sandboxes.describe()

    assert (kind.backend, kind.isolation, kind.is_isolated) == ("process", "files", False)
    assert kind.warning
    assert "share this machine's memory" in kind.warning
    assert kind.closes_network


async def test_plain_sandboxes_say_that_they_do_not_isolate(house: House) -> None:
    house.config = house.config.model_copy(update={"process_isolation": "none"})
    async with house.open_sandboxes() as sandboxes:
        kind = sandboxes.describe()

        assert (kind.backend, kind.isolation, kind.is_isolated) == ("process", "none", False)
        assert not kind.closes_network
        assert kind.warning
        assert "not isolated" in kind.warning
        assert sandboxes.inner_addresses() == ["127.0.0.1"]


async def test_without_bubblewrap_the_warning_names_cause_and_fix(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with house.open_sandboxes() as sandboxes:
        kind = sandboxes.describe()

        assert kind.isolation == "none"
        assert "bubblewrap is not installed" in str(kind.warning)
        assert "apt-get install bubblewrap" in str(kind.warning)


async def test_a_machine_that_grants_no_namespaces_is_told_apart(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    async with house.open_sandboxes() as sandboxes:
        assert "No permissions to create new namespace" in str(sandboxes.describe().warning)
        assert "user.max_user_namespaces" in str(sandboxes.describe().warning)


async def test_where_walls_are_demanded_no_sandbox_starts_without_them(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    house.config = house.config.model_copy(update={"process_isolation": "bubblewrap"})
    async with house.open_sandboxes() as sandboxes:
        sandbox_id = await house.create(sandboxes)
        with pytest.raises(StartFailure) as failure:
            await sandboxes.bring_up(sandbox_id, house.reports.append)

        assert failure.value.code == "bubblewrap_unavailable"
        assert "apt-get install bubblewrap" in failure.value.fix
        assert not (house.config.home / "sandboxes" / sandbox_id.hex).exists()


def _interpreter() -> list[Path]:
    return [REPOSITORY, Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve()]


def _children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
