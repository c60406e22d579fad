"""Fixtures for the tests of the gateway: a running sandbox with a web server in it, and HTTP clients that
reach it over a real listener.
"""

import asyncio
import shlex
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.core.config import Config
from app_server.main import WithState
from app_server.sandboxes.service import RunningSandbox
from app_server.users.models import User
from tests.app_server.conftest import App, http_client, listening
from tests.support import sandbox_site
from tests.support.apps import public_app
from tests.support.patience import PATIENCE_SECONDS, pauses_between_looks
from tests.support.ports import free_port


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """Returns the URL of an SQLite database: these tests do not depend on the kind of database."""
    return f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}"


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(
        home=tmp_path / "home", database_url=database_url, sandbox="process", inner_port=free_port()
    )


@dataclass(frozen=True)
class Site:
    """A web server on the port `port` of a sandbox."""

    sandbox: RunningSandbox
    port: int

    @property
    def name(self) -> str:
        return f"p{self.port}-{self.sandbox.id.hex}"


@pytest.fixture
async def sandbox(app: App, owner: User) -> AsyncIterator[RunningSandbox]:
    sandboxes = app.state["sandboxes"]
    async with app.database.session() as session:
        row = await sandboxes.create(session, sandbox_id=uuid4(), user_id=owner.id)
    yield await sandboxes.bring_up(row.id, lambda _line: None)
    await sandboxes.delete(row.id)


@pytest.fixture
async def site(app: App, sandbox: RunningSandbox) -> Site:
    """Starts `tests/support/sandbox_site.py` in the sandbox, as a program in the background that outlives
    the command.
    """
    port = free_port()
    script = f"{sandbox.working_root}/sandbox_site.py"
    await sandbox.client.upload_file(Path(sandbox_site.__file__), script)
    await run(sandbox, f"({shlex.quote(sys.executable)} {script} {port} >/tmp/site.log 2>&1 &)")
    await until_listening(sandbox, port)
    return Site(sandbox, port)


async def run(sandbox: RunningSandbox, command: str) -> str:
    output = await sandbox.client.execute_command(command, cwd=sandbox.working_root)
    assert output.exit_code == 0, f"{command}: {output.stdout} {output.stderr}"
    return output.stdout or ""


async def until_listening(sandbox: RunningSandbox, port: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    pauses = pauses_between_looks()
    while port not in {one.port for one in await sandbox.client.ports()}:
        assert time.monotonic() < deadline, f"nothing listens on {port}"
        await asyncio.sleep(next(pauses))


async def link(client: httpx.AsyncClient, sandbox_id: UUID, **body: Any) -> str:
    reply = await client.post(f"/api/v1/sandboxes/{sandbox_id}/links", json=body)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["url"])


@pytest.fixture
async def address(app: App) -> AsyncIterator[str]:
    """Serves the public app on a real socket. Yields its URL."""
    async with listening(app.public) as url:
        yield url


@pytest.fixture
async def visitor(address: str, client: httpx.AsyncClient, site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client that has opened a link to the web server, with the link's cookie. The client is
    not signed in.
    """
    url = urlsplit(await link(client, site.sandbox.id, port=site.port))
    async with httpx.AsyncClient(base_url=address, headers={"Host": url.netloc}) as visitor:
        opened = await visitor.get(f"{url.path}?{url.query}")
        assert opened.status_code == 303, opened.text
        assert "token" not in opened.headers["location"]
        visitor.headers["Cookie"] = opened.headers["set-cookie"].partition(";")[0]
        visitor.cookies.clear()
        yield visitor


@pytest.fixture
async def by_path(
    app: App, address: str, client: httpx.AsyncClient, site: Site
) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client that has a link with a path instead of a separate host name, as an installation
    without such host names makes them.
    """
    client.headers["Host"] = "slipway.lan"
    config = app.config.model_copy(update={"preview_domain": "", "allowed_hosts": ["slipway.lan"]})
    state = {**app.state, "config": config}
    public = WithState(public_app(config), state)
    async with http_client(public, headers=client.headers) as owner, listening(public) as url:
        path = urlsplit(await link(owner, site.sandbox.id, port=site.port)).path
        async with httpx.AsyncClient(base_url=url + path, headers={"Host": "slipway.lan"}) as visitor:
            yield visitor
