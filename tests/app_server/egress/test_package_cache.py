"""Tests of the package cache for the sandboxes of one user: which files are stored, for which user, and
which files are never stored.
"""

import sys
import time
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.core.config import Config
from app_server.egress.package_cache import store as package_store
from app_server.egress.package_cache.cache import FOLDER, PackageCache
from app_server.egress.package_cache.files import PackageFiles
from app_server.egress.package_cache.store import PackageStore
from app_server.egress.policy import EgressMode
from app_server.users.models import Role, User
from app_server.users.service import create_user
from tests.app_server.egress.conftest import KEY, WayOut, a_sandbox
from tests.app_server.egress.test_credentials import TOKEN, give
from tests.app_server.egress.test_proxy import set_mode
from tests.app_server.eventually import eventually
from tests.support.outside import Handler, says
from tests.support.packages import files_in, made_wheel

pytestmark = pytest.mark.low_ports

HOST = "packages.allowed.test"
FILE = "/simple/greeting/greeting-1.0-py3-none-any.whl"
HIT = "x-slipway-cache: hit"


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'slipway.sqlite3'}"


@pytest.fixture
def config(config: Config) -> Config:
    return config.model_copy(update={"package_cache_hosts": [HOST]})


def says_once(times: list[int], status: int = 200, **headers: str) -> Handler:
    """Returns a handler that answers each request with another body: "body 1", "body 2" and so on. `times`
    gets an entry for each request.
    """

    def handle(_host: str, _path: str) -> tuple[int, dict[str, str], bytes]:
        times.append(1)
        return status, headers, f"body {len(times)}".encode()

    return handle


async def ask(way_out: WayOut, path: str = FILE, *headers: str, key: str = KEY) -> tuple[str, str]:
    """Requests the path from the host over plain HTTP. Returns the head of the answer in lower case, and its
    body.
    """
    lines = (f"GET http://{HOST}{path} HTTP/1.1", f"Host: {HOST}", "Connection: close", *headers)
    head, _, body = (await way_out.raw(*lines, key=key)).decode().partition("\r\n\r\n")
    return head.lower(), body


async def test_another_sandbox_of_the_user_gets_it_from_here(way_out: WayOut, owner: User) -> None:
    await a_sandbox(way_out.app, owner, "another-key")
    async with way_out.site(HOST, says_once([]), tls=False) as site:
        first, second = await ask(way_out), await ask(way_out, key="another-key")

    assert (first[1], second[1], len(site.seen)) == ("body 1", "body 1", 1)
    assert (HIT in first[0], HIT in second[0]) == (False, True)
    assert sum(record.count for record in await way_out.records()) == 2


async def test_another_user_does_not(way_out: WayOut) -> None:
    async with way_out.app.database.session() as session:
        other = await create_user(session, name="Other", role=Role.MEMBER)
    await a_sandbox(way_out.app, other, "another-key")
    async with way_out.site(HOST, says_once([]), tls=False):
        first, second = await ask(way_out), await ask(way_out, key="another-key")

    assert (first[1], second[1]) == ("body 1", "body 2")


async def test_inside_tls(way_out: WayOut) -> None:
    curl = partial(way_out.run_as_agents, "curl", "-sSi", f"https://{HOST}{FILE}")
    async with way_out.site(HOST, says_once([])) as site:
        (_, first), (_, second) = await curl(), await curl()

    assert first.endswith("body 1")
    assert second.endswith("body 1")
    assert HIT in second.lower()
    assert len(site.seen) == 1


async def test_pip_installs_it_the_second_time_from_here(way_out: WayOut, tmp_path: Path) -> None:
    made_wheel(tmp_path / "web")
    pip = (sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir")
    async with way_out.site(HOST, files_in(tmp_path / "web")) as site:
        for place in ("one", "two"):
            index = ("--index-url", f"https://{HOST}/simple", "greeting")
            done, said = await way_out.run_as_agents(
                *pip, "install", "--no-deps", "--target", str(tmp_path / place), *index
            )
            assert done == 0, said

    assert (tmp_path / "two" / "greeting.py").exists()
    assert [path for _, _, path in site.seen] == ["/simple/greeting/", FILE, "/simple/greeting/"]


NOT_KEPT: list[tuple[int, dict[str, str]]] = [
    (200, {"Cache-Control": "no-store"}),
    (200, {"Cache-Control": "max-age=3600, private"}),
    (200, {"Cache-Control": "public, max-age=0"}),
    (200, {"Expires": "0"}),
    (200, {"Vary": "*"}),
    (200, {"Content-Encoding": "gzip"}),
    (404, {}),
    (206, {}),
]


async def test_answers_that_are_not_to_be_kept(way_out: WayOut) -> None:
    seen: list[str] = []

    def handle(_host: str, path: str) -> tuple[int, dict[str, str], bytes]:
        seen.append(path)
        return *NOT_KEPT[int(path[-5])], f"body {len(seen)}".encode()

    async with way_out.site(HOST, handle, tls=False):
        for number in range(len(NOT_KEPT)):
            bodies = {(await ask(way_out, f"/greeting-1.{number}.whl"))[1] for _ in range(2)}
            assert len(bodies) == 2, NOT_KEPT[number]


SAYS_MORE = (
    "Range: bytes=0-3",
    "Authorization: Bearer own",
    "Cookie: a=b",
    "X-Api-Key: own",
    "X-Original-URL: /other",
    "Npm-Otp: 123456",
    "Cache-Control: no-store",
)


async def test_a_request_that_says_more_than_which_file_passes_as_it_is(way_out: WayOut) -> None:
    async with way_out.site(HOST, says_once([]), tls=False) as site:
        bodies = [(await ask(way_out, FILE, header))[1] for header in SAYS_MORE]
        bodies.append((await ask(way_out))[1])

    for header, sent in zip(SAYS_MORE, site.headers, strict=False):
        name, _, value = header.partition(": ")
        assert sent[name.lower()] == value
    assert bodies == [f"body {number + 1}" for number in range(len(SAYS_MORE) + 1)]


async def test_a_sandbox_cannot_shape_what_is_kept(way_out: WayOut) -> None:
    async with way_out.site(HOST, says("package"), tls=False) as site:
        await ask(way_out, FILE, "User-Agent: <script>", "Accept: text/html", "Accept-Language: xx")

    sent = site.headers[0]
    assert (sent["user-agent"], sent["accept"], sent["accept-encoding"]) == (
        "slipway-package-cache",
        "*/*",
        "identity",
    )
    assert "accept-language" not in sent


async def test_a_program_that_wants_it_new_gets_it_and_renews_it(way_out: WayOut) -> None:
    async with way_out.site(HOST, says_once([]), tls=False):
        first = await ask(way_out)
        renewed = await ask(way_out, FILE, "Cache-Control: no-cache")
        after = await ask(way_out)

    assert (first[1], renewed[1], after[1]) == ("body 1", "body 2", "body 2")


async def test_only_files_with_a_version_in_their_name_are_kept(way_out: WayOut) -> None:
    async with way_out.site(HOST, says_once([]), tls=False) as site:
        paths = ("/simple/greeting/", "/greeting.whl", f"{FILE}?a=b", "/greeting-1.0.txt")
        for path in paths:
            await ask(way_out, path)
            await ask(way_out, path)

    assert len(site.seen) == 2 * len(paths)


async def test_what_is_kept_is_refused_like_anything_else(way_out: WayOut, owner: User) -> None:
    async with way_out.site(HOST, says_once([]), tls=False):
        await ask(way_out)
        await set_mode(way_out.app, owner, EgressMode.NONE)
        head, _ = await ask(way_out)

    assert " 403 " in head
    assert "network_off" in head


async def test_what_a_credential_has_opened_needs_that_credential(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    curl = partial(way_out.run_as_agents, "curl", "-sS", f"https://{HOST}{FILE}")
    async with way_out.site(HOST, says_once([])) as site:
        credential = await give(client, host=HOST)
        assert [(await curl())[1], (await curl())[1]] == ["body 1", "body 1"]
        await client.delete(f"/api/v1/settings/network/credentials/{credential['id']}")
        assert (await curl())[1] == "body 2"

    assert site.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in site.headers[1]


async def test_a_program_that_does_not_trust_us_gets_a_tunnel_when_it_tries_again(way_out: WayOut) -> None:
    async with way_out.site(HOST, says("package")) as site:
        distrusted = await way_out.curl(f"https://{HOST}{FILE}")
        again = await way_out.curl(f"https://{HOST}{FILE}")

    assert "certificate" in distrusted
    assert (again, len(site.seen)) == ("package", 1)
    assert await way_out.reasons() == [(HOST, "not_trusted")]


def test_a_limit_of_nothing_reads_no_package_host(config: Config) -> None:
    off = config.model_copy(update={"package_cache_bytes": 0})

    assert PackageCache(config).knows("files.pythonhosted.org", 443)
    assert not PackageCache(off).knows("files.pythonhosted.org", 443)


async def test_an_answer_that_breaks_off_is_not_kept(way_out: WayOut) -> None:
    async with way_out.site(HOST, lambda _host, _path: (200, {"Content-Length": "99"}, b"half"), tls=False):
        await ask(way_out)
    folder = way_out.app.config.home / FOLDER

    async def is_empty() -> bool:
        return not files_below(folder)

    await eventually(is_empty)


@pytest.mark.parametrize(
    ("host", "path", "is_kept"),
    [
        ("files.pythonhosted.org", f"/packages/ab/cd/{'0' * 60}/a-1.0-py3-none-any.whl.metadata", True),
        ("files.pythonhosted.org", "/packages/source/a/a-1.0.tar.gz", False),
        ("pypi.org", f"/packages/ab/cd/{'0' * 60}/a-1.0.whl", False),
        ("registry.npmjs.org", "/left-pad/-/left-pad-1.3.0.tgz", True),
        ("registry.npmjs.org", "/@types/node/-/node-20.0.0.tgz", True),
        ("registry.npmjs.org", "/@types%2fnode/-/node-20.0.0.tgz", True),
        ("registry.npmjs.org", "/left-pad", False),
        ("deb.debian.org", "/debian/pool/main/h/hello/hello_2.10-3_amd64.deb", True),
        ("deb.debian.org", "/debian/dists/bookworm/InRelease", False),
        ("deb.debian.org", "/debian/pool/main/h/hello/hello_2.10-3.deb", False),
        ("security.debian.org", "/pool/updates/main/x/x/x_1%3a2+deb12u1_all.udeb", True),
        ("deb.debian.org", "/debian-security/pool/updates/main/libx/libx11/x-1_2~1_arm64.deb", True),
        ("deb.debian.org", f"/debian/pool/main/h/hello/hello_2.10-3_{'a' * 1024}.deb", False),
        ("de.archive.ubuntu.com", "/ubuntu/pool/main/h/hello/hello_2.10-3_amd64.deb", True),
        ("static.crates.io", "/crates/serde/serde-1.0.0.crate", True),
        ("proxy.golang.org", "/golang.org/x/text/@v/v0.3.0.zip", True),
        ("proxy.golang.org", "/golang.org/x/text/@v/list", False),
    ],
)
def test_the_files_of_known_registries(host: str, path: str, is_kept: bool) -> None:
    assert PackageFiles().holds(host, 443, path) is is_kept


@pytest.mark.parametrize(
    ("path", "is_kept"),
    [
        ("/simple/a/a-1.0-py3-none-any.whl", True),
        ("/a_v2.tar.gz", True),
        ("/files/@1/a@2.3.tgz", True),
        ("/a-1/a.zip", False),
        ("/a-b.zip", False),
        ("/a-1.0.txt", False),
    ],
)
def test_the_files_of_a_named_host(path: str, is_kept: bool) -> None:
    assert PackageFiles(["files.acme.dev"]).holds("files.acme.dev", 443, path) is is_kept


@pytest.mark.parametrize(
    "host", ["elsewhere.test", "deb.debian.org", "registry.npmjs.org", "proxy.golang.org", "files.acme.dev"]
)
@pytest.mark.parametrize("unit", ["_", "-1", "-1.", "pool/", "pool/_a", "%2f", "@%2f", "/@v/v1.", "a/", "/"])
@pytest.mark.parametrize("characters", [1000, 8000])
def test_a_hostile_path_does_not_take_long(host: str, unit: str, characters: int) -> None:
    files = PackageFiles(["files.acme.dev"])
    paths = [f"{begin}{unit * (characters // len(unit))}" for begin in ("/", "/pool/", "/@", "/a-1")]
    begun = time.perf_counter()

    assert not any(files.holds(host, 443, path) for path in paths)

    assert time.perf_counter() - begun < 1


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def keep(store: PackageStore, user: UUID, name: str, body: bytes) -> None:
    draft = await store.draft(user, name, [("etag", name)], len(body), 60)
    assert draft
    await draft.write(body)
    await draft.keep()


async def has(store: PackageStore, user: UUID, name: str) -> bytes | None:
    kept = await store.find(user, name)
    if kept is None:
        return None
    try:
        return b"".join([piece async for piece in kept.pieces()])
    finally:
        kept.close()


async def test_the_longest_unused_goes_first(tmp_path: Path) -> None:
    store, user = PackageStore(tmp_path, 11_000), uuid4()
    for name in ("a", "b", "c"):
        await keep(store, user, name, b"x" * 3000)
    assert await has(store, user, "a")
    await keep(store, user, "d", b"x" * 3000)

    assert [name for name in "abcd" if await has(store, user, name)] == ["a", "c", "d"]
    assert await store.draft(user, "e", [], 11_001, 60) is None
    assert await has(store, uuid4(), "a") is None


async def test_a_file_that_is_broken_or_too_old_is_not_found(tmp_path: Path) -> None:
    store, user = PackageStore(tmp_path, 10_000), uuid4()
    await keep(store, user, "a", b"body")
    [path] = files_below(tmp_path)
    content = path.read_bytes()
    for broken in (content[:-1], b"", b"no json\nbody"):
        path.write_bytes(broken)
        assert await has(store, user, "a") is None
    path.write_bytes(content)
    assert await has(store, user, "a") == b"body"
    old = await store.draft(user, "old", [], 0, -1)
    assert old
    await old.keep()
    assert await has(store, user, "old") is None


async def test_a_disk_that_is_nearly_full_takes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_store, "FREE_BYTES", 2**60)
    assert await PackageStore(tmp_path, 10_000).draft(uuid4(), "a", [], 1, 60) is None
