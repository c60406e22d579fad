"""Tests of the list of runtime plugins while a sandbox does not run. The web page uses this list to choose
its tabs.
"""

from uuid import UUID, uuid4

import httpx
import pytest

from app_server.core.config import Config
from app_server.sandbox_records.models import Sandbox, SandboxStatus
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.conversations.conftest import Home

ALL = {"vscode", "desktop", "browser", "jupyter"}
NAME = "slipway-sandbox"


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"sandbox_flavour": "full"})


async def plugins(client: httpx.AsyncClient, sandbox_id: str) -> dict[str, str]:
    """Returns the status of each runtime plugin of the sandbox, by name."""
    reply = await client.get(f"/api/v1/sandboxes/{sandbox_id}/runtime-plugins")
    assert reply.status_code == httpx.codes.OK, reply.text
    return {one["name"]: one["status"] for one in reply.json()["items"]}


@pytest.fixture
async def at_rest(app: App, owner: User) -> "AtRest":
    return AtRest(app, owner)


class AtRest:
    def __init__(self, app: App, owner: User) -> None:
        self._app, self._owner = app, owner

    async def sandbox(self, spec_id: str, status: SandboxStatus, base_image: str | None = None) -> str:
        """Stores a sandbox without a machine. Returns its id."""
        async with self._app.database.session() as session:
            row = await self._app.state["sandboxes"].create(
                session, sandbox_id=uuid4(), user_id=self._owner.id, base_image=base_image
            )
            row.spec_id, row.status = spec_id, status
        return str(row.id.hex)


async def test_what_a_start_has_found_is_known_while_the_sandbox_sleeps_and_in_its_archive(
    home: Home,
) -> None:
    task = await home.ready()
    sandbox_id = task["sandbox_id"]
    one = f"/api/v1/sandboxes/{sandbox_id}"

    (await home.client.post(f"{one}/pause")).raise_for_status()
    asleep = await plugins(home.client, sandbox_id)
    (await home.client.post(f"{one}/archive")).raise_for_status()
    archived = await plugins(home.client, sandbox_id)
    (await home.client.post(f"{one}/resume")).raise_for_status()
    await home.ended(task["id"])
    awake = await plugins(home.client, sandbox_id)

    assert asleep == archived == awake
    assert set(asleep) == ALL
    async with home.database.session() as session:
        row = await session.get_one(Sandbox, UUID(sandbox_id))
        assert row.found_plugins == [name for name, status in awake.items() if status != "unavailable"]


@pytest.mark.parametrize(
    ("spec_id", "status", "present"),
    [
        (f"{NAME}:slim-0123456789ab", SandboxStatus.PAUSED, {"jupyter"}),
        (f"{NAME}:slim-0123456789ab", SandboxStatus.ARCHIVED, {"jupyter"}),
        (f"remote:{NAME}:slim-0123456789ab", SandboxStatus.PAUSED, {"jupyter"}),
        (f"{NAME}:full-0123456789ab", SandboxStatus.PAUSED, ALL),
        ("docker", SandboxStatus.STARTING, ALL),
    ],
)
async def test_of_one_that_was_never_asked_its_image_tells(
    client: httpx.AsyncClient, at_rest: AtRest, spec_id: str, status: SandboxStatus, present: set[str]
) -> None:
    found = await plugins(client, await at_rest.sandbox(spec_id, status))

    assert {name for name, each in found.items() if each != "unavailable"} == present
    assert set(found) == ALL


async def test_of_an_image_from_elsewhere_nothing_is_told_before_it_runs(
    client: httpx.AsyncClient, at_rest: AtRest
) -> None:
    sandbox_id = await at_rest.sandbox("example/tools:1", SandboxStatus.PAUSED)

    assert await plugins(client, sandbox_id) == {}
