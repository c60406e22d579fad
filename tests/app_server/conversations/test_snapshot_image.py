"""Tests of the image for the sandbox of a conversation that starts from a snapshot. No sandbox is started
here.
"""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.conversations.models import Conversation
from app_server.conversations.start.steps import create_sandbox
from app_server.core.config import Config
from app_server.core.sandbox_hosts import SandboxHost
from app_server.sandbox_records.models import Archive, ArchiveKind, Sandbox
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.support.ports import free_port

ROOT = "/api/v1/app-conversations"
SPECS = "/api/v1/sandbox-specs"
CHOICE = "/api/v1/settings/sandbox-spec"
NODE, PYTHON = "node:22", "python:3.13"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Returns a configuration with container sandboxes on a remote host that does not answer."""
    (tmp_path / "token").write_text("secret")
    url = f"http://127.0.0.1:{free_port()}"
    host = SandboxHost(name="away", url=url, token_file=tmp_path / "token")
    return Config(home=tmp_path / "home", sandbox="remote", sandbox_hosts=[host], inner_port=free_port())


@pytest.fixture
async def server(app: App, owner: User) -> "Server":
    await app.state["start_worker"].close()
    return Server(app, owner)


class Server:
    def __init__(self, app: App, owner: User) -> None:
        self._app, self._owner = app, owner

    async def snapshot(self, base_image: str | None, runtime_plugins: list[str] | None = None) -> str:
        """Stores a snapshot of a conversation whose sandbox used this image and these runtime plugins.
        Returns the snapshot's id.

        base_image: None means the default image.
        """
        ids = {"id": uuid4(), "user_id": self._owner.id}
        async with self._app.database.session() as session:
            session.add(Conversation(**ids, sandbox_id=ids["id"], llm_profile="demo", last_seq=0))
            sandboxes = self._app.state["sandboxes"]
            await sandboxes.create(
                session,
                sandbox_id=ids["id"],
                user_id=self._owner.id,
                base_image=base_image,
                runtime_plugins=runtime_plugins,
            )
            archive = Archive(
                id=uuid4(),
                sandbox_id=ids["id"],
                user_id=self._owner.id,
                conversation_id=ids["id"],
                kind=ArchiveKind.SNAPSHOT,
                size_bytes=1,
                sha256="0" * 64,
            )
            session.add(archive)
        return archive.id.hex

    async def image_of(self, task_id: str) -> str | None:
        """Runs the first step of the start. Returns the base image that this step stores for the sandbox.
        None means the default image.
        """
        return (await self.sandbox_of(task_id)).base_image

    async def sandbox_of(self, task_id: str) -> Sandbox:
        await create_sandbox(await self._app.state["start_worker"]._load(UUID(task_id)))
        async with self._app.database.read() as session:
            return await session.get_one(Sandbox, UUID(task_id))


async def begin(client: httpx.AsyncClient, **request: Any) -> str:
    reply = await client.post(ROOT, json=request)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["id"])


async def spec(client: httpx.AsyncClient, name: str, image: str, **more: Any) -> str:
    reply = await client.post(SPECS, json={"name": name, "image": image, **more})
    assert reply.is_success, reply.text
    return str(reply.json()["id"])


async def test_a_snapshot_starts_in_the_image_of_its_files(client: httpx.AsyncClient, server: Server) -> None:
    made_in_node, made_in_ours = await server.snapshot(NODE), await server.snapshot(None)
    python = await spec(client, "Python", PYTHON)
    await client.put(CHOICE, json={"sandbox_spec_id": python})

    assert await server.image_of(await begin(client, snapshot_id=made_in_node)) == NODE
    assert await server.image_of(await begin(client, snapshot_id=made_in_ours)) is None
    assert await server.image_of(await begin(client)) == PYTHON


async def test_another_image_is_taken_where_the_request_names_one(
    client: httpx.AsyncClient, server: Server
) -> None:
    snapshot, python = await server.snapshot(NODE), await spec(client, "Python", PYTHON)

    named = await begin(client, snapshot_id=snapshot, sandbox_spec_id=python)
    default = await begin(client, snapshot_id=snapshot, sandbox_spec_id="default")

    assert await server.image_of(named) == PYTHON
    assert await server.image_of(default) is None


async def test_a_sandbox_offers_the_runtime_plugins_of_its_spec_or_of_its_snapshot(
    client: httpx.AsyncClient, server: Server
) -> None:
    named = await spec(client, "Named", PYTHON, runtime_plugins=["vscode", "jupyter", "vscode"])
    nothing = await spec(client, "Nothing", PYTHON, runtime_plugins=[])
    everything = await spec(client, "Everything", PYTHON)
    snapshot = await server.snapshot(NODE, ["desktop"])

    listed = (await client.get(f"{SPECS}/search")).json()["items"]
    assert {one["name"]: one["runtime_plugins"] for one in listed} == {
        "default": None,
        "Named": ["jupyter", "vscode"],
        "Nothing": [],
        "Everything": None,
    }
    for spec_id, offered in ((named, ["jupyter", "vscode"]), (nothing, []), (everything, None)):
        sandbox = await server.sandbox_of(await begin(client, sandbox_spec_id=spec_id))
        assert sandbox.runtime_plugins == offered
    sandbox = await server.sandbox_of(await begin(client, snapshot_id=snapshot))
    assert sandbox.runtime_plugins == ["desktop"]
    unknown = await client.post(SPECS, json={"name": "x", "image": PYTHON, "runtime_plugins": ["emacs"]})
    assert_problem(unknown, 422, "validation_failed")
