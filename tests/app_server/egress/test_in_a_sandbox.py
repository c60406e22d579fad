"""What agents install with, inside a container, under the list of allowed hosts. The registries are ours.

The tests' authority is one of those that the image believes, as it believes those of real registries: nothing
is set for the tools but what the product sets.
"""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import docker
import httpx
import pytest
from pydantic import SecretStr

from app_server.agent_client.running_sandbox import RunningSandbox
from app_server.core.config import Config
from app_server.http.outgoing_proxy import Upstream
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.egress.conftest import WayOut, a_sandbox, open_way_out
from tests.app_server.egress.test_credentials import TOKEN, give
from tests.support.canaries import look_into_container, shown
from tests.support.git_host import GitHost
from tests.support.outside import Authority, Site, own_address, says
from tests.support.packages import files_in, made_deb, made_npm_package, made_wheel
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image
from tests.support.tiny_image import derived_image

pytestmark = [pytest.mark.docker, pytest.mark.low_ports, pytest.mark.timeout(900)]

HOST = "packages.allowed.test"
CACHED = "cached.allowed.test"
CLOSED = "elsewhere.test"
REASON = f"{CLOSED}:443 is not on this conversation's list of allowed hosts"

PIP = "python3 -m venv ~/venv && ~/venv/bin/pip --retries 1"
GREET = "~/venv/bin/python -c 'import greeting; print(greeting.WORD)'"
NPM = "mkdir -p ~/p && cd ~/p && npm init -y >/dev/null && npm --fetch-retries=0 --no-audit --no-fund"
WORD = "hello\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def image(authority: Authority) -> Iterator[str]:
    """The light one, which believes the tests' sites too."""
    pem = base64.b64encode(authority.file.read_bytes()).decode()
    lines = (
        "USER root",
        f"RUN echo {pem} | base64 -d > /usr/local/share/ca-certificates/tests.crt && update-ca-certificates",
        "USER agent",
    )
    with (
        closing(docker.from_env(version="auto")) as engine,
        derived_image(engine, sandbox_image(), "\n".join(lines)) as name,
    ):
        yield name


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}"


@pytest.fixture
def config(tmp_path: Path, database_url: str, image: str) -> Config:
    return Config(
        home=tmp_path / "home",
        database_url=SecretStr(database_url),
        sandbox="docker",
        sandbox_image=image,
        inner_port=free_port(),
        egress="allowlist",
        egress_hosts=["*.allowed.test"],
        package_cache_hosts=["*.cached.allowed.test"],
        egress_private=["127.0.0.0/8"],
    )


@dataclass
class Inside:
    """Commands of an agent in a container, and the world that they can reach."""

    way: WayOut
    running: RunningSandbox

    async def run(self, command: str) -> tuple[int | None, str]:
        """Exit status and all output."""
        done = await self.running.client.execute_command(f"({command}) 2>&1", timeout_seconds=300)
        return done.exit_code, done.stdout or ""

    async def done(self, command: str) -> str:
        """What it said, after it ended well."""
        status, said = await self.run(command)
        assert status == 0, f"{command}: {said}"
        return said

    async def refused(self, command: str) -> str:
        """What it said, after it failed because of the list; the refusal is on record."""
        assert await self.way.reasons() == []
        status, said = await self.run(command)
        assert status, f"{command}: {said}"
        assert await self.way.reasons() == [(CLOSED, "not_allowed")], said
        assert self.way.refused == [self.running.id]
        return said


@pytest.fixture
async def inside(app: App, owner: User, authority: Authority) -> AsyncIterator[Inside]:
    sandboxes = app.state["sandboxes"]
    sandbox_id = await a_sandbox(app, owner, key=None)
    [address] = sandboxes.inner_addresses()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, app.config.inner_port))
        async with open_way_out(app, sandbox_id, authority, listener, Upstream()) as way_out:
            running = await sandboxes.bring_up(sandbox_id, lambda _line: None)
            yield Inside(way_out, running)
            await sandboxes.delete(sandbox_id)


async def test_curl(inside: Inside) -> None:
    async with (
        inside.way.site(HOST, says("encrypted")),
        inside.way.site(f"plain.{HOST}", says("plain"), tls=False),
    ):
        assert await inside.done(f"curl -sS https://{HOST}/ http://plain.{HOST}/") == "encryptedplain"
    said = await inside.refused(f"curl -sSv https://{CLOSED}/")

    assert "CONNECT tunnel failed, response 403" in said
    assert REASON in said
    assert "is not on this conversation's list" in await inside.done(f"curl -sS http://{CLOSED}/")


async def test_pip_and_uv(inside: Inside, tmp_path: Path) -> None:
    made_wheel(tmp_path / "web")
    index = f"--index-url https://{HOST}/simple greeting"
    async with inside.way.site(HOST, files_in(tmp_path / "web")):
        await inside.done(f"pip install {index}")
        assert await inside.done("greeting && python -c 'import greeting; print(greeting.WORD)'") == WORD * 2
        await inside.done("pip uninstall -y greeting && ! command -v greeting")
        await inside.done(f"uv pip install {index}")
        assert await inside.done("greeting && python -c 'import greeting; print(greeting.WORD)'") == WORD * 2
        await inside.done("uv pip uninstall greeting")
        await inside.done(f"uv tool install {index}")
        assert await inside.done("greeting") == WORD
        await inside.done(f"python -m venv own && own/bin/pip install {index} && own/bin/greeting")
    assert REASON in await inside.refused(
        f"pip --retries 1 install --index-url https://{CLOSED}/simple other"
    )


async def test_npm(inside: Inside, tmp_path: Path) -> None:
    made_npm_package(tmp_path / "web", HOST)
    async with inside.way.site(HOST, files_in(tmp_path / "web")):
        await inside.done(f"{NPM} install --registry https://{HOST}/ greeting")
        await inside.done(f"npm i -g --registry https://{HOST}/ greeting")

    assert "greeting" in await inside.done("cat ~/p/node_modules/greeting/package.json")
    assert await inside.done("greeting") == WORD
    assert REASON in await inside.refused(f"{NPM} install --registry https://{CLOSED}/ other")


async def test_apt(inside: Inside, tmp_path: Path) -> None:
    made_deb(tmp_path / "web", tmp_path / "greeting")
    line = "echo 'deb [trusted=yes] http://{}/ ./' > ~/sources.list"
    source = "-o Dir::Etc::sourcelist=$HOME/sources.list -o Dir::Etc::sourceparts=/dev/null"
    await inside.done(line.format(HOST))
    async with inside.way.site(HOST, files_in(tmp_path / "web"), tls=False):
        await inside.done(f"sudo apt-get {source} update")
        said = await inside.done(
            f"sudo -E DEBIAN_FRONTEND=noninteractive apt-get {source} install -y greeting"
        )
        again = await inside.done(f"apt-get {source} install -y greeting")

    assert "the scripts of greeting" in said
    assert "greeting is already the newest version" in again
    assert await inside.done("greeting && python -c 'import greeted; print(greeted.WORD)'") == WORD * 2
    status, said = await inside.run("apt-get remove -y greeting")
    assert (status, "does not work in a sandbox" in said) == (100, True)
    status, said = await inside.run("sudo -u nobody true")
    assert (status, "Nothing can run as nobody" in said) == (1, True)
    await inside.done(line.format(CLOSED))
    said = await inside.refused(f"apt-get {source} -o APT::Update::Error-Mode=any update")
    assert f"{CLOSED}:80 is not on this conversation's list of allowed hosts" in said


async def test_git(inside: Inside, authority: Authority, tmp_path: Path) -> None:
    address = own_address()
    inside.way.dns.answers[HOST] = [[address]]
    with GitHost(tmp_path / "git", address=address, port=443, tls=authority.context(HOST)) as host:
        host.make("team/harbour")
        await inside.done(f"git clone -q https://{HOST}/team/harbour.git /tmp/clone")

    assert await inside.done("cat /tmp/clone/README.md") == "harbour"
    said = await inside.refused(f"GIT_CURL_VERBOSE=1 git clone https://{CLOSED}/team/harbour.git /tmp/other")
    assert "CONNECT tunnel failed, response 403" in said
    assert REASON in said


@asynccontextmanager
async def another(inside: Inside, owner: User) -> AsyncIterator[Inside]:
    """A second sandbox of the same user."""
    sandboxes = inside.way.app.state["sandboxes"]
    sandbox_id = await a_sandbox(inside.way.app, owner, key=None)
    running = await sandboxes.bring_up(sandbox_id, lambda _line: None)
    yield Inside(inside.way, running)
    await sandboxes.delete(sandbox_id)


def fetched(site: Site, ending: str) -> int:
    """How often a file of packages was asked for at a registry."""
    return sum(method == "GET" and path.endswith(ending) for method, _, path in site.seen)


async def test_what_one_sandbox_has_fetched_the_next_one_gets_without_the_registry(
    inside: Inside, owner: User, tmp_path: Path
) -> None:
    pip, uv, npm, apt = (f"{name}.{CACHED}" for name in ("pip", "uv", "npm", "apt"))
    made_wheel(tmp_path / "python")
    made_npm_package(tmp_path / "npm", npm)
    made_deb(tmp_path / "apt", tmp_path / "greeting")
    source = "-o Dir::Etc::sourcelist=$HOME/sources.list -o Dir::Etc::sourceparts=/dev/null"
    commands = (
        f"pip install --index-url https://{pip}/simple greeting && greeting && pip uninstall -y greeting",
        f"uv pip install --index-url https://{uv}/simple greeting && greeting && uv pip uninstall greeting",
        f"npm i -g --registry https://{npm}/ greeting && greeting && npm rm -g greeting",
        f"echo 'deb [trusted=yes] http://{apt}/ ./' > ~/sources.list && apt-get {source} update",
        f"apt-get {source} install -y greeting && greeting",
    )
    async with (
        inside.way.site(pip, files_in(tmp_path / "python")) as python_index,
        inside.way.site(uv, files_in(tmp_path / "python")) as uv_index,
        inside.way.site(npm, files_in(tmp_path / "npm")) as npm_registry,
        inside.way.site(apt, files_in(tmp_path / "apt"), tls=False) as repository,
        another(inside, owner) as second,
    ):
        for sandbox in (inside, second):
            for command in commands:
                await sandbox.done(command)

    assert [
        fetched(python_index, ".whl"),
        fetched(uv_index, ".whl"),
        fetched(npm_registry, ".tgz"),
        fetched(repository, ".deb"),
    ] == [1, 1, 1, 1]
    assert await inside.way.reasons() == []


@asynccontextmanager
async def private(inside: Inside, directory: Path, wanted: str) -> AsyncIterator[Site]:
    """Files for those who bring `wanted` as their authorization."""
    seen: list[Site] = []
    files = files_in(directory)

    def handle(host: str, path: str) -> tuple[int, dict[str, str], bytes]:
        is_known = seen[0].headers[-1].get("authorization") == wanted
        return files(host, path) if is_known else (401, {"WWW-Authenticate": "Basic"}, b"who are you?")

    async with inside.way.site(HOST, handle) as site:
        seen.append(site)
        yield site


async def holds(inside: Inside, said: str, *canaries: str) -> str:
    """Where in the sandbox, or in what was said there, one of them is."""
    known = {f"canary {number}": canary for number, canary in enumerate(canaries)}
    environment = await inside.done("env; npm config list -l; git config -l; cat /proc/self/environ")
    there = await asyncio.to_thread(look_into_container, inside.running.id.hex, known)
    return there + "".join(shown(said + environment, known))


async def test_pip_from_a_private_index(inside: Inside, client: httpx.AsyncClient, tmp_path: Path) -> None:
    made_wheel(tmp_path / "web")
    pair = base64.b64encode(f"__token__:{TOKEN}".encode()).decode()
    install = f"{PIP} -v install --index-url https://{HOST}/simple greeting"
    async with private(inside, tmp_path / "web", f"Basic {pair}") as site:
        status, before = await inside.run(f"{install} </dev/null")
        assert status, before
        assert site.connections
        await give(client, host=HOST, kind="basic", username="__token__")
        said = await inside.done(install)

    assert await inside.done(GREET) == "hello\n"
    assert await holds(inside, said, TOKEN, pair) == ""


async def test_npm_from_a_private_registry(inside: Inside, client: httpx.AsyncClient, tmp_path: Path) -> None:
    made_npm_package(tmp_path / "web", HOST)
    install = f"{NPM} --loglevel silly install --registry https://{HOST}/ greeting"
    async with private(inside, tmp_path / "web", f"Bearer {TOKEN}") as site:
        status, before = await inside.run(install)
        assert status, before
        assert site.connections
        await give(client, host=HOST)
        said = await inside.done(install)

    assert "greeting" in await inside.done("cat ~/p/node_modules/greeting/package.json")
    assert await holds(inside, said, TOKEN) == ""
