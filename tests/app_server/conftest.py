"""A whole app server on a database of its own: its public and inner apps over real HTTP semantics."""

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
    """A running app server: `public` and `inner` are its ASGI apps, `state` what they share."""

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
    """Whatever SLIPWAY_* the developer's shell has set, tests start from the defaults, in the light image."""
    for name in [name for name in os.environ if name.startswith("SLIPWAY_") and "_TEST_" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLIPWAY_SANDBOX_FLAVOUR", FLAVOUR)


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(home=tmp_path / "home", database_url=SecretStr(database_url), sandbox="process")


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    """A mail server that keeps what it gets. A test's `config` names its port."""
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
    """The user that the first start made."""
    async with app.database.read() as session:
        user = await find_owner(session)
    assert user is not None
    return user


@pytest.fixture
async def anonymous(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is not signed in."""
    async with http_client(app.public) as client:
        yield client


@pytest.fixture
async def client(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:
    """The owner, by API key."""
    async with app.database.session() as session:
        _, key = await create_api_key(session, owner, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as signed_in:
        yield signed_in


@pytest.fixture
async def inner(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """A sandbox without its key."""
    async with http_client(app.inner) as client:
        yield client


def http_client(app: ASGIApp, **options: object) -> httpx.AsyncClient:
    """A client of `app`. An exception that escapes the app fails the test."""
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://localhost:3000",
        **options,  # type: ignore[arg-type]
    )


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[str]:
    """`app` behind a real socket, for what only a real connection shows; yields its URL."""
    # Only for such a socket asyncio turns Nagle's algorithm off, which holds replies back for 40 ms.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # a connection that comes before the server is ready waits
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
        task = asyncio.create_task(server.serve([listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        await task
