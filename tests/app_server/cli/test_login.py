"""Tests of `slipway login` and `slipway logout`: a terminal signs in at a running server, and signs out."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from click.testing import Result
from typer.testing import CliRunner

from app_server.cli.login import server_address
from app_server.cli.main import app as slipway
from app_server.sign_in.devices import service
from app_server.sign_in.service import create_link
from app_server.users.models import User
from tests.app_server.conftest import App, http_client, listening
from tests.support.signed_in import sign_in_async


@pytest.fixture
async def url(app: App) -> AsyncIterator[str]:
    async with listening(app.public) as address:
        yield address


@pytest.fixture
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    return tmp_path / "configuration" / "slipway" / "credentials.json"


@pytest.fixture
async def pages(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[str]:
    """Yields a queue with the URLs of the web pages that the command opens. Sets the interval at which the
    command asks the server to one second.
    """
    opened: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def note(page: str) -> None:
        loop.call_soon_threadsafe(opened.put_nowait, page)

    monkeypatch.setattr("webbrowser.open", note)
    monkeypatch.setattr(service, "INTERVAL_SECONDS", 1)
    return opened


def stored(file: Path) -> dict[str, Any]:
    """Returns the content of the credentials file. Returns {} if the file does not exist."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


def modes(file: Path) -> tuple[int, int]:
    return file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777


def set_mode(file: Path, mode: int) -> None:
    file.chmod(mode)


async def code_of(command: asyncio.Task[Result], pages: asyncio.Queue[str]) -> str:
    """Returns the user code in the URL of the next web page that the command opens."""
    page = asyncio.create_task(pages.get())
    await asyncio.wait([page, command], return_when=asyncio.FIRST_COMPLETED)
    assert page.done(), command.result().output
    return parse_qs(urlsplit(page.result()).query)["user_code"][0]


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(lambda: CliRunner().invoke(slipway, arguments))


async def test_a_terminal_signs_in_keeps_its_key_to_itself_and_signs_out(
    app: App, owner: User, url: str, credentials: Path, pages: asyncio.Queue[str], client: httpx.AsyncClient
) -> None:
    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    command = asyncio.create_task(run("login", url, "--name", "ada-laptop", "--days", "3"))
    user_code = await code_of(command, pages)
    async with http_client(app.public, headers={"Origin": "http://localhost:3000"}) as browser:
        await sign_in_async(browser, token)
        answer = {"user_code": user_code, "is_allowed": True}
        await browser.post("/api/v1/device-sign-ins/answer", json=answer)
    ended = await command
    assert ended.exit_code == 0, ended.output
    assert f"Signed in at {url} with the key 'ada-laptop' (read work)." in ended.stdout
    assert modes(credentials) == (0o600, 0o700)
    key = stored(credentials)[url]["key"]
    assert key not in ended.output
    names = {one["name"] for one in (await client.get("/api/v1/api-keys")).json()}
    assert names == {"tests", "ada-laptop"}

    set_mode(credentials, 0o644)
    assert "chmod 600" in (await run("logout")).stderr
    set_mode(credentials, 0o600)
    left = await run("logout")
    assert left.exit_code == 0, left.output
    assert [one["name"] for one in (await client.get("/api/v1/api-keys")).json()] == ["tests"]
    assert stored(credentials) == {}
    assert (await run("logout")).exit_code == 2


async def test_a_refused_sign_in_and_an_address_without_tls_leave_no_key(
    app: App, owner: User, url: str, credentials: Path, pages: asyncio.Queue[str]
) -> None:
    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    command = asyncio.create_task(run("login", url))
    user_code = await code_of(command, pages)
    async with http_client(app.public, headers={"Origin": "http://localhost:3000"}) as browser:
        await sign_in_async(browser, token)
        answer = {"user_code": user_code, "is_allowed": False}
        await browser.post("/api/v1/device-sign-ins/answer", json=answer)
    ended = await command
    assert (ended.exit_code, ended.stderr.strip()) == (2, "The sign-in was refused in the browser.")
    refused = await run("login", "http://slipway.example.com")
    assert "--plain-http" in refused.stderr
    assert "is not signed in" in (await run("run", "anything", "--server", url)).stderr
    assert stored(credentials) == {}


def test_addresses_are_compared_in_one_form() -> None:
    assert server_address("Slipway.Example.com/") == "https://slipway.example.com"
    assert server_address("http://[::1]:3000") == "http://[::1]:3000"
