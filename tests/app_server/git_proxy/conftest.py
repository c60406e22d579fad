"""Fixtures for the tests of the git proxy: a real git host, a real app server and real git, which sends a
sandbox's session key. There is no sandbox.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.git.credentials import save_credential
from app_server.git.models import PushScope
from app_server.git.schemas import SaveGitCredential
from app_server.git_proxy import push_log as pushes
from app_server.git_proxy.models import GitPush
from app_server.users.models import User
from app_server.users.tokens import token_hash
from tests.app_server.conftest import App, listening
from tests.app_server.eventually import eventually
from tests.support.git_host import GitHost
from tests.support.patience import PATIENCE_SECONDS

CANARY = "canary-token-8c1d"
KEY = "session-key-51af"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    """Yields a git host with the repositories team/harbour and team/other. The user's token may write to
    them.
    """
    with GitHost(tmp_path / "host") as host:
        host.make("team/harbour")
        host.make("team/other")
        host.tokens[CANARY] = "write"
        yield host


@dataclass(frozen=True)
class Ended:
    status: int
    output: str


@dataclass
class Sandbox:
    """Runs git as commands of a conversation on team/harbour do. Git itself sends the session key; in a
    sandbox, the agent server adds the key.
    """

    app: App
    owner: User
    host: GitHost
    inner_url: str
    directory: Path
    id: UUID = field(default_factory=uuid4)
    key: str = KEY

    def url(self, name: str = "team/harbour") -> str:
        return f"{self.inner_url}/git/{urlsplit(self.host.origin).netloc}/{name}.git"

    async def git(self, *arguments: str, directory: Path | None = None) -> Ended:
        process = await self.start_git(*arguments, directory=directory)
        async with asyncio.timeout(PATIENCE_SECONDS):
            output, _ = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, output.decode())

    async def start_git(self, *arguments: str, directory: Path | None = None) -> asyncio.subprocess.Process:
        settings = {
            "user.name": "Agent",
            "user.email": "agent@example.org",
            "http.extraHeader": f"X-Session-API-Key: {self.key}",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return await asyncio.create_subprocess_exec(
            "git",
            *options,
            *arguments,
            cwd=directory or self.work,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.directory),
                "GIT_TERMINAL_PROMPT": "0",
                "LC_ALL": "C.UTF-8",
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def work(self) -> Path:
        return self.directory / "work"

    async def clone(self) -> None:
        done = await self.git("clone", "-q", self.url(), str(self.work), directory=self.directory)
        assert done.status == 0, done.output

    async def commit(self, name: str = "notes.txt", content: bytes = b"notes") -> str:
        """Writes the file and commits it in the clone. Returns the new commit's hash."""
        (self.work / name).write_bytes(content)
        for arguments in (("add", "-A"), ("commit", "-q", "-m", f"Write {name}")):
            done = await self.git(*arguments)
            assert done.status == 0, done.output
        return (await self.git("rev-parse", "HEAD")).output.strip()

    async def push(self, *arguments: str) -> Ended:
        return await self.git("push", "origin", *arguments)

    async def record(self) -> list[tuple[str, str, str | None]]:
        """Returns the ref, outcome and reason of every recorded push, the oldest first."""
        async with self.app.database.read() as session:
            rows: list[GitPush] = list(await pushes.list_pushes(session, self.id))
        return [(row.ref, row.outcome.value, row.reason) for row in reversed(rows)]

    async def allow(
        self, *, token: str = CANARY, scope: PushScope = PushScope.OWN, authorities: str | None = None
    ) -> None:
        given = SaveGitCredential.model_validate(
            {
                "host": self.host.origin,
                "token": token,
                "push_scope": scope,
                "certificate_authorities": authorities,
            }
        )
        async with self.app.database.session() as session:
            await save_credential(session, self.app.state["cipher"], self.owner.id, given)


async def until(is_true: Callable[[], bool]) -> None:
    """Waits until `is_true` returns True. It checks again and again, because the git host's threads and
    files send no events.
    """

    async def check() -> bool:
        return is_true()

    await eventually(check)


@pytest.fixture
async def sandbox(app: App, owner: User, host: GitHost, tmp_path: Path) -> AsyncIterator[Sandbox]:
    await app.state["start_worker"].close()
    directory = tmp_path / "sandbox"
    directory.mkdir()
    async with listening(app.inner) as inner_url:
        sandbox = Sandbox(app, owner, host, inner_url, directory)
        ids = {"id": sandbox.id, "user_id": owner.id}
        async with app.database.session() as session:
            session.add(
                Conversation(
                    **ids, llm_profile="demo", last_seq=0, selected_repository=host.url("team/harbour")
                )
            )
            session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
            row = await app.state["sandboxes"].create(session, sandbox_id=sandbox.id, user_id=owner.id)
            row.session_key_hash = token_hash(KEY)
        await sandbox.allow()
        yield sandbox
