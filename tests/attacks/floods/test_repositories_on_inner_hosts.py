"""Tests of repositories that a user names and that are on hosts which only the app server can reach."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app_server.core.addresses import parse_named
from app_server.core.config import Config
from app_server.core.errors import StartFailure
from app_server.git.address import parse_address
from app_server.git.pinned_git import guard_for, way_to
from app_server.git.repository_bundle import PackedRepository, pack
from app_server.http.guarded_client import Guard, Resolver
from app_server.users.models import Role, User
from tests.app_server.git_proxy.conftest import Sandbox
from tests.support.git_host import GitHost
from tests.support.patience import PATIENCE_SECONDS

REPOSITORY = "team/harbour"


def answers(*addresses: str) -> Resolver:
    """Returns a resolver that gives these addresses one after another, and the last one again for all later
    requests.
    """
    left = list(addresses)

    async def resolve(_name: str) -> list[str]:
        return [left.pop(0) if len(left) > 1 else left[0]]

    return resolve


async def cloned(url: str, scratch: Path, guard: Guard | None) -> PackedRepository:
    await asyncio.to_thread(scratch.mkdir)
    return await pack(
        parse_address(url),
        None,
        directory=scratch,
        timeout_seconds=PATIENCE_SECONDS,
        report=lambda _line: None,
        guard=guard,
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/team/harbour.git",
        "http://localhost:{port}/team/harbour.git",
        "http://[::ffff:127.0.0.1]:{port}/team/harbour.git",
        "http://2130706433:{port}/team/harbour.git",
        "http://%31%32%37.0.0.1:{port}/team/harbour.git",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/a/b.git",
        "ssh://git@127.0.0.1:{port}/a/b.git",
        "git@localhost:a/b.git",
        "git://127.0.0.1:{port}/a/b.git",
        "git://github.com/a/b.git",
        "http://localhost.:{port}/team/harbour.git",
    ],
)
async def test_a_member_cannot_clone_from_neighbours(
    host: GitHost, config: Config, tmp_path: Path, url: str
) -> None:
    host.tokens.clear()
    with pytest.raises(StartFailure) as failure:
        await cloned(url.format(port=host.port), tmp_path / "scratch", guard_for(config, administers=False))
    assert failure.value.code == "repository_not_allowed"
    assert not host.requests


async def test_what_an_administrator_has_named_can_be_cloned(
    host: GitHost, config: Config, tmp_path: Path
) -> None:
    host.tokens.clear()
    named = config.model_copy(update={"egress_private": ["127.0.0.0/8"]})
    for number, guard in enumerate(
        (guard_for(named, administers=False), guard_for(config, administers=True))
    ):
        packed = await cloned(host.url(REPOSITORY), tmp_path / str(number), guard)
        assert packed.branch == "main"


async def test_git_calls_the_address_that_was_judged(host: GitHost, tmp_path: Path) -> None:
    """Git must connect to the address that the app server has checked. It cannot look up this host name
    itself.
    """
    host.tokens.clear()
    guard = Guard(parse_named(["127.0.0.0/8"]), answers("127.0.0.1", "10.0.0.1"))
    packed = await cloned(f"http://git.invalid:{host.port}/{REPOSITORY}.git", tmp_path / "scratch", guard)
    assert packed.branch == "main"
    assert {asked.headers["Host"] for asked in host.requests} == {f"git.invalid:{host.port}"}


async def test_ssh_calls_the_address_that_was_judged() -> None:
    guard = Guard(parse_named(["127.0.0.0/8"]), answers("127.0.0.9"))
    for url in ("git@git.invalid:a/b.git", "ssh://git@git.invalid:2222/a/b.git"):
        way = await way_to(url, guard)
        assert way.ssh_options == " -o HostName=127.0.0.9 -o HostKeyAlias=git.invalid"


@pytest.fixture
def elsewhere(host: GitHost) -> Iterator[str]:
    """Yields the URL of a server that is treated as public and that redirects to a private server."""

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{host.port}{self.path}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.2", 0), Redirecting) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.2:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_a_redirect_to_a_neighbour_is_not_followed(
    host: GitHost, elsewhere: str, tmp_path: Path
) -> None:
    host.tokens.clear()
    guard = Guard(parse_named(["127.0.0.2"]))
    with pytest.raises(StartFailure, match="redirects to another address"):
        await cloned(f"{elsewhere}/{REPOSITORY}.git", tmp_path / "scratch", guard)
    assert not host.requests


async def test_git_of_a_members_sandbox_reaches_no_neighbour(sandbox: Sandbox, host: GitHost) -> None:
    async with sandbox.app.database.session() as session:
        (await session.get_one(User, sandbox.owner.id)).role = Role.MEMBER
    done = await sandbox.git("ls-remote", sandbox.url(), directory=sandbox.directory)
    assert done.status != 0
    assert "leads to a private address. Only administrators may use one" in done.output
    assert not host.requests
