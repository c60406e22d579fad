"""Fixtures for the tests of conversations: an app server that serves on real ports with process sandboxes,
and a git repository.
"""

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import uvicorn
from pydantic import SecretStr
from sqlalchemy import select

import app_server.lifespan
from agent_runtime.project_executables.discover import find_executables
from app_server.conversations.models import Conversation
from app_server.conversations.start import worker
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.lifespan import lifespan
from app_server.main import WithState
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user, find_owner
from tests.support.apps import inner_app, public_app
from tests.support.forked_agents import fork_sandboxes
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.plain_http import NO_TLS
from tests.support.ports import free_port

ROOT = "/api/v1/app-conversations"


async def eventually(check: Callable[[], Awaitable[Any]]) -> Any:
    """Calls `check` again and again until its answer is true. Returns this answer. Fails after
    PATIENCE_SECONDS.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    pauses = pauses_between_looks()
    while not (answer := await check()):
        assert time.monotonic() < deadline, "it did not come true"
        await asyncio.sleep(next(pauses))
    return answer


@dataclass
class Home:
    """A running app server. `client` is an HTTP client of its owner, `key` the owner's API key, `state` its
    shared objects by name.
    """

    config: Config
    state: dict[str, Any]
    client: httpx.AsyncClient
    key: str

    @property
    def database(self) -> Database:
        database: Database = self.state["database"]
        return database

    @property
    def stream_url(self) -> str:
        return f"ws://127.0.0.1:{self.config.port}/api/v1/conversation"

    async def start(self, **request: Any) -> dict[str, Any]:
        reply = await self.client.post(ROOT, json=request)
        assert reply.status_code == 200, reply.text
        task: dict[str, Any] = reply.json()
        return task

    async def ended(self, task_id: str) -> dict[str, Any]:
        """Waits until the start task is READY or ERROR, and returns it."""

        async def check() -> Any:
            task = await self.task(task_id)
            return task if task["status"] in {"READY", "ERROR"} else None

        task: dict[str, Any] = await eventually(check)
        return task

    async def ready(self, **request: Any) -> dict[str, Any]:
        task = await self.ended((await self.start(**request))["id"])
        assert task["status"] == "READY", json.dumps(task["error"], indent=2)
        return task

    async def task(self, task_id: str) -> dict[str, Any]:
        (task,) = (await self.client.get(f"{ROOT}/start-tasks", params={"ids": [task_id]})).json()
        assert task is not None
        found: dict[str, Any] = task
        return found

    async def conversation(self, conversation_id: str) -> dict[str, Any]:
        (found,) = (await self.client.get(ROOT, params={"ids": [conversation_id]})).json()
        conversation: dict[str, Any] = found
        return conversation

    async def shell(self, conversation_id: str, command: str) -> str:
        """Runs a shell command in the conversation's directory. Returns its standard output and standard
        error.
        """
        async with self.database.read() as session:
            conversation = await session.get_one(Conversation, UUID(conversation_id))
        client = self.state["sandboxes"].client(conversation.sandbox_id)
        output = await client.execute_command(command, cwd=conversation.working_dir)
        return ((output.stdout or "") + (output.stderr or "")).strip()

    async def key_of(self, role: Role) -> str:
        """Creates another user with this role. Returns an API key of this user."""
        async with self.database.session() as session:
            user = await create_user(session, name="Somebody", role=role)
            _, key = await create_api_key(session, user, name="tests")
        return key


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(
        home=tmp_path / "home",
        database_url=SecretStr(database_url),
        sandbox="process",
        # The set-up scripts in these tests write files that the tests read. Isolation would hide the files.
        process_isolation="none",
        port=free_port(),
        inner_port=free_port(),
    )


@pytest.fixture
async def home(config: Config, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Home]:
    fork_sandboxes(monkeypatch)
    # Most of these tests wait for periodic checks of the server, so the intervals are short.
    monkeypatch.setattr(app_server.lifespan, "_MONITOR_INTERVAL_SECONDS", 0.4)
    monkeypatch.setattr(app_server.lifespan, "RENEW_SECONDS", 0.5)
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.2)
    async with lifespan(config) as opened:
        state = vars(opened)
        servers = [
            _server(WithState(public_app(config), state), config.port),
            _server(WithState(inner_app(config), state), config.inner_port),
        ]
        serving = [asyncio.create_task(server.serve()) for server in servers]
        await eventually(lambda: _started(servers))
        try:
            async with await _owner_client(config, state["database"]) as client:
                yield Home(config, state, client, client.headers["Authorization"].removeprefix("Bearer "))
        finally:
            await state["start_worker"].close()
            async with state["database"].read() as session:
                left = list(await session.scalars(select(Sandbox.id)))
            for sandbox_id in left:
                await state["sandboxes"].delete(sandbox_id)
            await state["pubsub"].close()
            for server in servers:
                server.should_exit = True
            await asyncio.gather(*serving)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Returns the path of a git repository with one commit on the branch main."""
    path = tmp_path / "harbour"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "README.md").write_text("harbour\n")
    commit(path, "Begin")
    return path


def allowed(repository: Path) -> dict[str, Any]:
    """Returns the fields of a start request that selects the repository and allows all executables which the
    repository has now.
    """
    hashes = [each.hash for each in find_executables(repository)]
    return {"selected_repository": str(repository), "consent": hashes}


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    result = subprocess.run(
        ["git", *identity, *arguments],
        cwd=path,
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    return result.stdout.strip()


def commit(path: Path, message: str) -> str:
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", message)
    return git(path, "rev-parse", "HEAD")


async def _owner_client(config: Config, database: Database) -> httpx.AsyncClient:
    async with database.session() as session:
        owner: User | None = await find_owner(session)
        assert owner is not None
        _, key = await create_api_key(session, owner, name="tests")
    return client_of(config, key)


def client_of(config: Config, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{config.port}",
        headers={"Authorization": f"Bearer {key}"},
        timeout=PATIENCE_SECONDS,
        verify=NO_TLS,
    )


def _server(app: Any, port: int) -> uvicorn.Server:
    server = uvicorn.Server(
        uvicorn.Config(
            app, host="127.0.0.1", port=port, lifespan="off", log_level="warning", ws="websockets-sansio"
        )
    )
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    return server


async def _started(servers: list[uvicorn.Server]) -> bool:
    return all(server.started for server in servers)
