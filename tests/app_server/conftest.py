"""Fixtures for the tests of the app server: a complete app server with its own database, and HTTP clients of
its public and inner ASGI apps.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from pydantic import SecretStr
from starlette.types import ASGIApp

from app_server.core.config import Config
from app_server.core.database import Database
from app_server.lifespan import lifespan
from app_server.main import WithState
from app_server.users.models import User
from app_server.users.service import create_api_key, find_owner
from tests.support.apps import inner_app, public_app
from tests.support.mail_receiver import MailReceiver
from tests.support.sandbox_image import FLAVOUR


@dataclass(frozen=True)
class App:
    """A running app server. `public` and `inner` are its ASGI apps. `state` has the objects that both apps
    share, by name.
    """

    config: Config
    state: dict[str, Any]
    public: ASGIApp
    inner: ASGIApp

    @property
    def database(self) -> Database:
        database: Database = self.state["database"]
        return database


@pytest.fixture(autouse=True)
def no_outer_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the SLIPWAY_* variables of the developer's shell, so that each test starts with the defaults.
    Sets the flavour of the sandbox image for tests.
    """
    for name in [name for name in os.environ if name.startswith("SLIPWAY_") and "_TEST_" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLIPWAY_SANDBOX_FLAVOUR", FLAVOUR)


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(home=tmp_path / "home", database_url=SecretStr(database_url), sandbox="process")


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    """Yields a mail server that stores the messages that it receives. A test enters its port in its own
    `config` fixture.
    """
    with MailReceiver() as receiver:
        yield receiver


@pytest.fixture
async def app(config: Config) -> AsyncIterator[App]:
    async with lifespan(config) as opened:
        state = vars(opened)
        public, inner = public_app(config), inner_app(config)
        yield App(config, state, WithState(public, state), WithState(inner, state))


@pytest.fixture
async def owner(app: App) -> User:
    """Returns the owner, the user that the app server creates at its first start."""
    async with app.database.read() as session:
        user = await find_owner(session)
    assert user is not None
    return user


@pytest.fixture
async def anonymous(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the public app that is not signed in."""
    async with http_client(app.public) as client:
        yield client


@pytest.fixture
async def client(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the public app that sends an API key of the owner."""
    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as signed_in:
        yield signed_in


@pytest.fixture
async def inner(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the inner app, as a sandbox uses it. The client sends no session key."""
    async with http_client(app.inner) as client:
        yield client


def http_client(app: ASGIApp, **options: object) -> httpx.AsyncClient:
    """Returns an HTTP client of `app`, without a socket. An exception that the app does not handle fails the
    test.
    """
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://localhost:3000",
        **options,  # type: ignore[arg-type]
    )


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[str]:
    """Serves `app` on a real socket, for tests that need real connections. Yields its URL."""
    # With IPPROTO_TCP, asyncio turns off Nagle's algorithm, which can delay replies by 40 ms.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # connections that arrive before the server is ready wait
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        task = asyncio.create_task(server.serve([listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await task
