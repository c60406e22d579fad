"""Tests of the choice between several hosts for a new sandbox. The hosts are simulated: they answer as real
ones do, but run nothing.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import load_cipher
from app_server.core.errors import Conflict, StartFailure
from app_server.core.sandbox_hosts import SandboxHost
from app_server.sandbox_backends.remote.backend import RemoteBackend
from app_server.sandbox_backends.remote.wire import PREFIX, PROTOCOL
from app_server.sandbox_records.models import SandboxStatus
from app_server.sandboxes.service import Sandboxes
from app_server.users.models import Role, User
from tests.app_server.tables import create_tables

ONE = 512 * 1024**2


@dataclass
class StandIn:
    """A simulated sandbox host without a Docker engine. `states`: the state of each of its sandboxes."""

    capacity_bytes: int
    states: dict[UUID, str] = field(default_factory=dict)

    def answer(self, request: httpx.Request) -> httpx.Response:
        what = (request.method, request.url.path.removeprefix(PREFIX))
        if what == ("GET", "/info"):
            return httpx.Response(200, json=self._info())
        if what == ("GET", "/sandboxes"):
            found = [{"id": str(each), "state": state} for each, state in self.states.items()]
            return httpx.Response(200, json=found)
        assert what == ("POST", "/image"), what
        return httpx.Response(200, content=json.dumps({"done": True}) + "\n")

    def _info(self) -> dict[str, object]:
        return {
            "protocol": PROTOCOL,
            "version": "1",
            "engine": "none",
            "image": None,
            "capacity_bytes": self.capacity_bytes,
            "sandbox_memory_bytes": ONE,
            "isolation_gap": None,
            "workspace_bytes": None,
            "workspace_kept_by": "none",
        }


@dataclass
class Site:
    """An app server with two simulated hosts of the same size."""

    sandboxes: Sandboxes
    backend: RemoteBackend
    database: Database
    user_id: UUID
    hosts: dict[str, StandIn]
    config: Config

    async def restart_with(self, *names: str) -> None:
        """Replaces the backend by that of a new app server, whose settings have only these hosts."""
        listed = [each for each in self.config.sandbox_hosts if each.name in names]
        await self.backend.close()
        config = self.config.model_copy(update={"sandbox_hosts": listed})
        self.backend = self.sandboxes._machines.backend = await open_backend(config, self.hosts)

    async def status_of(self, sandbox_id: UUID) -> SandboxStatus:
        """Lets the app server look at its sandboxes once. Returns the stored status of this one."""
        await self.sandboxes._monitor.check()
        found = await self.sandboxes._rows.find(sandbox_id)
        assert found
        return found.status

    async def create(self) -> UUID:
        sandbox_id = uuid4()
        async with self.database.session() as session:
            await self.sandboxes.create(session, sandbox_id=sandbox_id, user_id=self.user_id)
        return sandbox_id

    async def start(self, sandbox_id: UUID) -> str:
        """Starts the sandbox on the host that the app server chooses. Returns the host's name."""
        async with self.sandboxes._admission.reservation(sandbox_id, lambda _: None, 30):
            await self.backend.prepare(lambda _: None, None, sandbox_id)
            name = self.backend.host_name(sandbox_id)
            assert name
            self.hosts[name].states[sandbox_id] = "running"
        await self.sandboxes._rows.save(sandbox_id, SandboxStatus.RUNNING)
        return name

    async def sleep(self, sandbox_id: UUID) -> None:
        name = self.backend.host_name(sandbox_id)
        assert name
        self.hosts[name].states[sandbox_id] = "stopped"
        await self.sandboxes._rows.save(sandbox_id, SandboxStatus.PAUSED)


async def open_backend(config: Config, stand_ins: Mapping[str, StandIn]) -> RemoteBackend:
    backend = RemoteBackend(config)
    for name, host in backend.hosts.items():
        await host.http.aclose()
        transport = httpx.MockTransport(stand_ins[name].answer)
        host.http = httpx.AsyncClient(base_url=f"{host.url}{PREFIX}", transport=transport)
        host.is_ready.set()
    await backend.open()
    return backend


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    token = tmp_path / "token"
    token.write_text("secret")
    config = Config(
        home=tmp_path / "home",
        sandbox_memory_bytes=ONE,
        sandbox_hosts=[
            SandboxHost(name=name, url=f"http://{name}.invalid", token_file=token)
            for name in ("left", "right")
        ],
    )
    config.home.mkdir()
    database = Database(config.resolved_database_url)
    await create_tables(database)
    user = User(id=uuid4(), name="Owner", role=Role.OWNER)
    async with database.session() as session:
        session.add(user)
    stand_ins = {name: StandIn(8 * ONE) for name in ("left", "right")}
    backend = await open_backend(config, stand_ins)
    sandboxes = Sandboxes(config, database, load_cipher(config))
    sandboxes._machines.backend = backend
    yield Site(sandboxes, backend, database, user.id, stand_ins, config)
    await sandboxes._machines.close()
    await database.close()


async def test_one_after_the_other_they_are_spread_over_equal_hosts(site: Site) -> None:
    placed = [await site.start(await site.create()) for _ in range(6)]

    assert Counter(placed) == {"left": 3, "right": 3}


async def test_at_the_same_time_they_are_spread_over_equal_hosts(site: Site) -> None:
    created = [await site.create() for _ in range(6)]

    placed = await asyncio.gather(*(site.start(each) for each in created))

    assert Counter(placed) == {"left": 3, "right": 3}


async def test_those_that_run_count_and_those_that_sleep_do_not(site: Site) -> None:
    first, second, third = [await site.create() for _ in range(3)]
    assert [await site.start(each) for each in (first, second, third)] == ["left", "right", "left"]

    await site.sleep(first)
    await site.sleep(third)

    assert await site.start(await site.create()) == "left"
    assert Counter([await site.start(await site.create()) for _ in range(2)]) == {"left": 1, "right": 1}


async def test_one_whose_start_was_interrupted_is_placed_by_load_as_well(site: Site) -> None:
    """The interrupted start has reserved memory, but no host was chosen for it. Now the host with less load
    is chosen.
    """
    running = await site.create()
    assert await site.start(running) == "left"
    interrupted = await site.create()
    places = site.sandboxes._admission._reservations
    assert await places.take(interrupted, await places.read())

    assert await site.start(interrupted) == "right"


async def test_one_whose_host_is_removed_from_the_settings_is_missing_until_the_host_is_named_again(
    site: Site,
) -> None:
    sandbox_id = await site.create()
    await site.start(sandbox_id)
    site.sandboxes._machines.held.add(sandbox_id)  # so that no start is tried on the simulated host

    await site.restart_with("right")

    assert await site.status_of(sandbox_id) == SandboxStatus.MISSING
    with pytest.raises(Conflict, match=r"on the sandbox host left, .* There is no backup") as refused:
        await site.sandboxes.resume(sandbox_id)
    assert refused.value.code == "sandbox_host_lost"
    await site.restart_with("left", "right")
    assert await site.status_of(sandbox_id) == SandboxStatus.RUNNING


async def test_one_that_sleeps_on_a_removed_host_says_so_when_it_is_used(site: Site) -> None:
    sandbox_id = await site.create()
    await site.start(sandbox_id)
    await site.sleep(sandbox_id)

    await site.restart_with("right")

    assert await site.status_of(sandbox_id) == SandboxStatus.PAUSED
    with pytest.raises(StartFailure, match="sandbox host left, which is not in") as refused:
        await site.sandboxes.bring_up(sandbox_id, lambda _line: None)
    assert refused.value.code == "sandbox_host_unknown"
    assert await site.status_of(sandbox_id) == SandboxStatus.MISSING
