"""Tests of package managers inside a container, where only the hosts of a list are allowed. The tests serve
the registries.

The image trusts the tests' certificate authority, as it trusts those of real registries. So the tools
have only the settings that the product makes.
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
NOT_ON_THE_LIST = "is not on this conversation's list of allowed hosts"

PRIVATE_INDEX = "index.allowed.test"
PRIVATE_REGISTRY = "registry.allowed.test"

NPM = "mkdir -p ~/p && cd ~/p && npm init -y >/dev/null && npm --fetch-retries=0 --no-audit --no-fund"
WORD = "hello\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def image(authority: Authority) -> Iterator[str]:
    """Builds an image from the smaller sandbox image that trusts the tests' web sites. Yields its name."""
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
    """Runs commands of an agent in a container. `way` has the proxy and the web sites that the container can
    reach.
    """

    way: WayOut
    running: RunningSandbox

    async def run(self, command: str) -> tuple[int | None, str]:
        """Runs the command. Returns its exit status and its output (standard output and standard error)."""
        done = await self.running.client.execute_command(f"({command}) 2>&1", timeout_seconds=300)
        return done.exit_code, done.stdout or ""

    async def done(self, command: str) -> str:
        """Runs the command, and checks that it succeeds. Returns its output."""
        status, said = await self.run(command)
        assert status == 0, f"{command}: {said}"
        return said

    async def refused(self, command: str, host: str) -> str:
        """Runs the command, and checks that it fails and that the proxy recorded one refused call, to
        `host`. Returns the command's output.
        """
        before = await self.way.reasons()
        self.way.refused.clear()
        status, said = await self.run(command)
        assert status, f"{command}: {said}"
        assert await self.way.reasons() == [*before, (host, "not_allowed")], said
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


async def test_what_agents_install_with_reaches_allowed_hosts_alone(
    inside: Inside, authority: Authority, tmp_path: Path
) -> None:
    await curl_is_kept_to_the_list(inside)
    await git_is_kept_to_the_list(inside, authority, tmp_path / "git")
    await pip_and_uv_are_kept_to_the_list(inside, tmp_path / "python")
    await npm_is_kept_to_the_list(inside, tmp_path / "npm")
    # apt is the last one, because a sandbox cannot remove packages that apt has installed.
    await apt_is_kept_to_the_list(inside, tmp_path / "apt")


async def curl_is_kept_to_the_list(inside: Inside) -> None:
    closed = f"curl.{CLOSED}"
    async with (
        inside.way.site(HOST, says("encrypted")),
        inside.way.site(f"plain.{HOST}", says("plain"), tls=False),
    ):
        assert await inside.done(f"curl -sS https://{HOST}/ http://plain.{HOST}/") == "encryptedplain"
    said = await inside.refused(f"curl -sSv https://{closed}/", closed)

    assert "CONNECT tunnel failed, response 403" in said
    assert f"{closed}:443 {NOT_ON_THE_LIST}" in said
    assert "is not on this conversation's list" in await inside.done(f"curl -sS http://{closed}/")


async def git_is_kept_to_the_list(inside: Inside, authority: Authority, scratch: Path) -> None:
    address, closed = own_address(), f"git.{CLOSED}"
    inside.way.dns.answers[HOST] = [[address]]
    with GitHost(scratch, address=address, port=443, tls=authority.context(HOST)) as host:
        host.make("team/harbour")
        await inside.done(f"git clone -q https://{HOST}/team/harbour.git /tmp/clone")

    assert await inside.done("cat /tmp/clone/README.md") == "harbour"
    clone = f"GIT_CURL_VERBOSE=1 git clone https://{closed}/team/harbour.git /tmp/other"
    said = await inside.refused(clone, closed)
    assert "CONNECT tunnel failed, response 403" in said
    assert f"{closed}:443 {NOT_ON_THE_LIST}" in said


async def pip_and_uv_are_kept_to_the_list(inside: Inside, scratch: Path) -> None:
    closed = f"python.{CLOSED}"
    made_wheel(scratch)
    index = f"--index-url https://{HOST}/simple greeting"
    async with inside.way.site(HOST, files_in(scratch)):
        await inside.done(f"pip install {index}")
        assert await inside.done("greeting && python -c 'import greeting; print(greeting.WORD)'") == WORD * 2
        await inside.done("pip uninstall -y greeting && ! command -v greeting")
        await inside.done(f"uv pip install {index}")
        assert await inside.done("greeting && python -c 'import greeting; print(greeting.WORD)'") == WORD * 2
        await inside.done("uv pip uninstall greeting")
        await inside.done(f"uv tool install {index}")
        assert await inside.done("greeting") == WORD
        await inside.done("uv tool uninstall greeting && ! command -v greeting")
        await inside.done(f"python -m venv own && own/bin/pip install {index} && own/bin/greeting")
    install = f"pip --retries 1 install --index-url https://{closed}/simple other"
    assert f"{closed}:443 {NOT_ON_THE_LIST}" in await inside.refused(install, closed)


async def npm_is_kept_to_the_list(inside: Inside, scratch: Path) -> None:
    closed = f"npm.{CLOSED}"
    made_npm_package(scratch, HOST)
    async with inside.way.site(HOST, files_in(scratch)):
        await inside.done(f"{NPM} install --registry https://{HOST}/ greeting")
        await inside.done(f"npm i -g --registry https://{HOST}/ greeting")

    assert "greeting" in await inside.done("cat ~/p/node_modules/greeting/package.json")
    assert await inside.done("greeting") == WORD
    await inside.done("npm rm -g greeting && ! command -v greeting")
    install = f"{NPM} install --registry https://{closed}/ other"
    assert f"{closed}:443 {NOT_ON_THE_LIST}" in await inside.refused(install, closed)


async def apt_is_kept_to_the_list(inside: Inside, scratch: Path) -> None:
    closed = f"apt.{CLOSED}"
    made_deb(scratch / "web", scratch / "greeting")
    line = "echo 'deb [trusted=yes] http://{}/ ./' > ~/sources.list"
    source = "-o Dir::Etc::sourcelist=$HOME/sources.list -o Dir::Etc::sourceparts=/dev/null"
    await inside.done(line.format(HOST))
    async with inside.way.site(HOST, files_in(scratch / "web"), tls=False):
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
    await inside.done(line.format(closed))
    said = await inside.refused(f"apt-get {source} -o APT::Update::Error-Mode=any update", closed)
    assert f"{closed}:80 {NOT_ON_THE_LIST}" in said


@asynccontextmanager
async def another(inside: Inside, owner: User) -> AsyncIterator[Inside]:
    """Starts a second sandbox of the same user. Yields it."""
    sandboxes = inside.way.app.state["sandboxes"]
    sandbox_id = await a_sandbox(inside.way.app, owner, key=None)
    running = await sandboxes.bring_up(sandbox_id, lambda _line: None)
    yield Inside(inside.way, running)
    await sandboxes.delete(sandbox_id)


def fetched(site: Site, ending: str) -> int:
    """Returns how many GET requests for paths with this ending the registry has received."""
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
async def private(inside: Inside, name: str, directory: Path, wanted: str) -> AsyncIterator[Site]:
    """Serves the files of `directory` to requests whose Authorization header is `wanted`. Other requests get
    401. Yields the site.
    """
    seen: list[Site] = []
    files = files_in(directory)

    def handle(host: str, path: str) -> tuple[int, dict[str, str], bytes]:
        is_known = seen[0].headers[-1].get("authorization") == wanted
        return files(host, path) if is_known else (401, {"WWW-Authenticate": "Basic"}, b"who are you?")

    async with inside.way.site(name, handle) as site:
        seen.append(site)
        yield site


async def holds(inside: Inside, said: str, *canaries: str) -> str:
    """Searches for the canary values in the sandbox's files, environment and settings, and in the output
    `said`. Returns where it found them; empty means nowhere.
    """
    known = {f"canary {number}": canary for number, canary in enumerate(canaries)}
    environment = await inside.done("env; npm config list -l; git config -l; cat /proc/self/environ")
    there = await asyncio.to_thread(look_into_container, inside.running.id.hex, known)
    return there + "".join(shown(said + environment, known))


async def test_packages_of_private_registries_come_without_the_sandbox_holding_their_credentials(
    inside: Inside, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    made_wheel(tmp_path / "python")
    made_npm_package(tmp_path / "npm", PRIVATE_REGISTRY)
    pair = base64.b64encode(f"__token__:{TOKEN}".encode()).decode()
    pip = f"pip --retries 1 -v install --index-url https://{PRIVATE_INDEX}/simple greeting"
    npm = f"{NPM} --loglevel silly install --registry https://{PRIVATE_REGISTRY}/ greeting"
    async with (
        private(inside, PRIVATE_INDEX, tmp_path / "python", f"Basic {pair}") as index,
        private(inside, PRIVATE_REGISTRY, tmp_path / "npm", f"Bearer {TOKEN}") as registry,
    ):
        for install, site in ((f"{pip} </dev/null", index), (npm, registry)):
            status, before = await inside.run(install)
            assert status, before
            assert site.connections
        await give(client, host=PRIVATE_INDEX, kind="basic", username="__token__")
        await give(client, host=PRIVATE_REGISTRY)
        said = await inside.done(pip) + await inside.done(npm)

    assert await inside.done("python -c 'import greeting; print(greeting.WORD)'") == WORD
    assert "greeting" in await inside.done("cat ~/p/node_modules/greeting/package.json")
    assert await holds(inside, said, TOKEN, pair) == ""
