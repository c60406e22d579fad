"""Fixtures for the tests of sandboxes: they start real sandboxes with the database of a real app server, and
remove them after the test.
"""

import asyncio
import inspect
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import docker
import pytest
from docker import DockerClient

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import load_cipher
from app_server.doctor import engine_checks
from app_server.sandbox_backends.docker import host_protection
from app_server.sandbox_backends.docker.firewall import admit_only, withdraw
from app_server.sandbox_backends.docker.host_reachability import is_host_reachable
from app_server.sandbox_backends.docker.network import BRIDGE, ensure_network
from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import Role, User
from tests.app_server.tables import create_tables
from tests.support import processes_probe
from tests.support.forked_agents import fork_sandboxes
from tests.support.migrated import in_a_loop
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image
from tests.support.shared_probes import real_probes

MEMORY_BYTES = 512 * 1024**2
PIDS = 200


@dataclass
class House:
    """One installation: its configuration, its database and its owner. `reports`: the lines that starts of
    sandboxes have reported.
    """

    config: Config
    database: Database
    user_id: UUID
    reports: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def open_sandboxes(self, *, close: bool = True) -> AsyncIterator[Sandboxes]:
        """Opens the object that manages sandboxes, as an app server does at each start. Yields it.
        `close=False`: at the end the app server is killed instead of stopped.
        """
        sandboxes = Sandboxes(self.config, self.database, load_cipher(self.config))
        try:
            await sandboxes.open()
            yield sandboxes
        finally:
            if close:
                await sandboxes.close()
            else:
                # the kernel also closes the connections of a killed process
                await sandboxes._machines.http.aclose()

    async def start(self, sandboxes: Sandboxes) -> RunningSandbox:
        sandbox_id = await self.create(sandboxes)
        return await sandboxes.bring_up(sandbox_id, self.reports.append)

    async def create(self, sandboxes: Sandboxes) -> UUID:
        sandbox_id = uuid4()
        async with self.database.session() as session:
            await sandboxes.create(session, sandbox_id=sandbox_id, user_id=self.user_id)
        return sandbox_id

    async def row(self, sandbox_id: UUID) -> Sandbox | None:
        async with self.database.read() as session:
            return await session.get(Sandbox, sandbox_id)


async def new_house(config: Config) -> House:
    config.home.mkdir(parents=True)
    database = Database(config.resolved_database_url)
    user = User(id=uuid4(), name="Owner", role=Role.OWNER)
    await create_tables(database)
    async with database.session() as session:
        session.add(user)
    return House(config, database, user.id)


async def clear(house: House) -> None:
    """Deletes all sandboxes of the installation, and closes its database."""
    async with house.open_sandboxes() as sandboxes:
        async with house.database.read() as session:
            left = [row.id for row in (await session.execute(Sandbox.__table__.select())).all()]
        for sandbox_id in left:
            await sandboxes.delete(sandbox_id)
    await house.database.close()


@asynccontextmanager
async def open_house(config: Config) -> AsyncIterator[House]:
    house = await new_house(config)
    yield house
    house.config = config
    await clear(house)


@pytest.fixture
async def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    """Yields an installation with process sandboxes that are not isolated."""
    fork_sandboxes(monkeypatch)
    config = Config(
        home=tmp_path / "home", sandbox="process", process_isolation="none", inner_port=free_port()
    )
    async with open_house(config) as house:
        yield house


def docker_config(home: Path) -> Config:
    return Config(
        home=home,
        sandbox="docker",
        inner_port=free_port(),
        sandbox_memory_bytes=MEMORY_BYTES,
        sandbox_pids=PIDS,
    )


@pytest.fixture
async def docker_house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(docker_config(tmp_path / "home")) as house:
        yield house


@pytest.fixture
def slim_house(docker_house: House) -> House:
    """Returns an installation whose sandboxes use the smaller sandbox image."""
    sandbox_image()
    docker_house.config = docker_house.config.model_copy(update={"sandbox_flavour": "slim"})
    return docker_house


@pytest.fixture
def engine() -> Iterator[DockerClient]:
    client = docker.from_env(version="auto")
    yield client
    client.close()


@dataclass
class Resident:
    """A container that all tests of a module share. It continues to run while the tests' app servers start
    and stop.
    """

    config: Config
    user_id: UUID
    sandbox_id: UUID

    def house(self) -> House:
        return House(self.config, Database(self.config.resolved_database_url), self.user_id)


@dataclass
class Visit:
    """An app server that has taken over the shared container of the module."""

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


def name_of(sandbox_id: UUID) -> str:
    return f"slipway-sandbox-{sandbox_id.hex}"


async def shell(running: RunningSandbox, command: str) -> str:
    """Runs the command in the sandbox, and checks that it succeeds. Returns its standard output."""
    output = await running.client.execute_command(command, cwd=running.working_root)
    assert output.exit_code == 0, f"{command}: {output.stdout} {output.stderr}"
    return output.stdout or ""


async def ways_to(running: RunningSandbox, text: str) -> set[str]:
    """Runs a program in the sandbox that searches for `text` in all data of other processes that /proc
    shows: environments, memory and others. Returns the places where it was found, each as "process id
    place".

    First it proves with an unprotected process that the search works.
    """
    probe = inspect.getsource(processes_probe)
    await shell(running, f"cat > ~/probe.py <<'END'\n{probe}\nEND")
    bait = f"bait-{uuid4().hex}"
    command = f"BAIT={bait} sleep 600 & echo $! > ~/bait; python3 ~/probe.py {bait[::-1]}; kill $(cat ~/bait)"
    pid = (found := await shell(running, f"{command}; cat ~/bait")).split()[-1]
    assert {f"{pid} environ", f"{pid} mem", f"{pid} attach"} <= set(found.splitlines())
    lines = (await shell(running, f"python3 ~/probe.py {text[::-1]}")).splitlines()
    server = (await shell(running, "echo $PPID")).strip()
    assert f"{server} attach" not in lines
    return {line for line in lines if not line.endswith(" attach")}


@pytest.fixture
def probing() -> Iterator[None]:
    """Each app server of the test checks the abilities of this machine itself. Without this fixture, tests
    reuse earlier results.
    """
    with real_probes():
        yield


@pytest.fixture
def host_left_open(
    probing: None, engine: DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Lets the test containers of this test's app servers reach this machine. The app servers may not change
    the packet filter.

    All tests on the machine share the packet filter, and they run at the same time. So the fixture allows
    packets of one hardware address only, which the test containers of this test get. Other sandboxes stay
    closed, even if this test is killed.
    """
    gateway, port = ensure_network(engine), free_port()
    admit_only(BRIDGE, gateway, port)
    withdraw(gateway, port)
    hardware_address = ":".join(["02", *(f"{byte:02x}" for byte in os.urandom(5))])

    def is_reachable(client: DockerClient, image: str, options: dict[str, Any], *rest: str) -> bool:
        return is_host_reachable(client, image, {**options, "mac_address": hardware_address}, *rest)

    for module in (host_protection, engine_checks):
        monkeypatch.setattr(module, "is_host_reachable", is_reachable)
    iptables = [str(shutil.which("iptables")), "-w", "10"]
    rule = ["INPUT", "-i", BRIDGE, "-m", "mac", "--mac-source", hardware_address, "-j", "ACCEPT"]
    subprocess.run([*iptables, "-I", *rule], check=True)
    forbid_iptables(tmp_path, monkeypatch)
    yield
    subprocess.run([*iptables, "-D", *rule], check=True)


def forbid_iptables(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Makes `iptables` fail, as it does for users who are not root. `folder`: an empty folder."""
    refusing = folder / "iptables"
    refusing.write_text("#!/bin/sh\necho 'you must be root' >&2; exit 4\n")
    refusing.chmod(0o755)
    patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


async def nothing() -> None:
    return


async def eventually(what: Callable[[], Awaitable[bool]], *, step: Callable[[], Awaitable[None]]) -> None:
    """Calls `step` again and again until `what` returns True. Fails after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pauses = pauses_between_looks()
    while not await what():
        assert time.monotonic() < deadline, "it did not come true"
        await step()
        await asyncio.sleep(next(pauses))
