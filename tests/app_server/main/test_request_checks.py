"""Tests of the checks of every request before its route runs: host names, origins, sizes, headers and
malformed input.
"""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import WebSocket
from starlette.types import Message, Scope

from app_server.core.config import Config
from app_server.http.static_files import Frontend
from app_server.main import WithState, create_app
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem


@pytest.mark.parametrize("host", ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "LOCALHOST"])
async def test_local_names_are_answered(anonymous: httpx.AsyncClient, host: str) -> None:
    assert (await anonymous.get("/health", headers={"Host": host})).json() == "OK"


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "", "[", "127.0.0.1@evil.example"]
)
async def test_foreign_names_are_not(anonymous: httpx.AsyncClient, host: str) -> None:
    assert_problem(await anonymous.get("/health", headers={"Host": host}), 421, "host_not_allowed")


async def test_configured_names_are_answered(app: App) -> None:
    config = app.config.model_copy(
        update={"public_url": "https://slipway.example.org/", "allowed_hosts": ["build.lan:3000"]}
    )
    async with http_client(WithState(create_app(config), app.state)) as client:
        for host in ("slipway.example.org", "build.lan", "build.lan:8080"):
            assert (await client.get("/health", headers={"Host": host})).status_code == 200


async def test_every_reply_carries_our_headers(anonymous: httpx.AsyncClient) -> None:
    for path in ("/health", "/api/v1/users/me", "/nowhere"):
        headers = (await anonymous.get(path, headers={"X-Request-ID": "forged"})).headers
        assert "script-src" not in headers["content-security-policy"]
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["x-request-id"] != "forged"


async def test_a_body_may_not_be_too_large(client: httpx.AsyncClient, config: Config) -> None:
    too_large = b"x" * (config.max_body_bytes + 1)
    json_type = {"Content-Type": "application/json"}

    async def untold() -> AsyncIterator[bytes]:
        for start in range(0, len(too_large), 1024**2):
            yield too_large[start : start + 1024**2]

    for content in (too_large, untold()):
        reply = await client.post("/api/v1/api-keys", content=content, headers=json_type)
        assert_problem(reply, 413, "payload_too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"name": "a\x00b"}',
        b'{"name": "a\\u0000b"}',
        b'{"name": "\\ud800"}',
        b'{"\\u0000": 1, "name": "x"}',
        b'{"name": "\xff"}',
        b"\xff\xfe",
        b'{"name": ' + b"[" * 100_000,
        b'{"name": ' + b"9" * 10_000 + b"}",
        b'{"name": NaN}',
    ],
)
async def test_bad_bodies_are_problems(client: httpx.AsyncClient, body: bytes) -> None:
    reply = await client.post("/api/v1/api-keys", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code in {400, 422}, reply.text
    assert_problem(reply, reply.status_code, reply.json()["code"])


@pytest.mark.parametrize(
    "path",
    ["/%00", "/api/v1/settings/profiles/%00", "/health?x=%00", "/assets/%00", "/" + "x" * 5000, "/%ff"],
)
async def test_bad_addresses_are_not_a_500(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code in {200, 400, 404, 422, 503}


async def test_unknown_routes_and_methods_are_problems(client: httpx.AsyncClient) -> None:
    assert_problem(await client.get("/api/v1/nowhere"), 404, "not_found")
    assert_problem(await client.post("/api/v1/nowhere"), 404, "not_found")
    assert_problem(await client.put("/api/v1/users/me"), 405, "method_not_allowed")


async def test_a_bug_of_ours_is_a_problem_with_our_headers(app: App, config: Config) -> None:
    broken = create_app(config)

    @broken.get("/api/v1/broken")
    async def _broken() -> None:
        raise RuntimeError("secret details")

    async with http_client(WithState(broken, app.state)) as client:
        reply = await client.get("/api/v1/broken")
    assert_problem(reply, 500, "internal_error")
    assert "secret" not in reply.text
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({"origin": "http://localhost:3000"}, "websocket.accept"),
        ({"origin": "http://evil.example"}, "websocket.close"),
        ({"origin": "http://evil.example", "authorization": "Bearer slw_x"}, "websocket.accept"),
        ({"cookie": "slipway_session=x"}, "websocket.close"),
        ({"host": "evil.example"}, "websocket.close"),
    ],
)
async def test_a_foreign_page_cannot_open_a_websocket(
    app: App, config: Config, headers: dict[str, str], outcome: str
) -> None:
    public = create_app(config)

    @public.websocket("/api/v1/echo")
    async def _echo(websocket: WebSocket) -> None:
        await websocket.accept()

    assert await _connect(WithState(public, app.state), {"host": "localhost:3000", **headers}) == outcome


async def _connect(app: WithState, headers: dict[str, str]) -> str:
    """Opens a WebSocket with these headers. Returns the type of the server's first message."""
    sent: list[Message] = []
    scope: Scope = {
        "type": "websocket",
        "path": "/api/v1/echo",
        "raw_path": b"/api/v1/echo",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "subprotocols": [],
        "scheme": "ws",
    }

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return str(sent[0]["type"])


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "dist" / "assets").mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text("<title>Slipway</title>")
    (tmp_path / "dist" / "assets" / "app-1a2b.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "dist"


@pytest.fixture
async def browser(app: App, config: Config, dist: Path) -> AsyncIterator[httpx.AsyncClient]:
    public = create_app(config)
    public.router.default = Frontend(directory=dist, check_dir=False)
    async with http_client(WithState(public, app.state)) as client:
        yield client


async def test_every_page_of_the_front_end_is_its_index(browser: httpx.AsyncClient) -> None:
    for path in ("/", "/conversations/1", "/sign-in", "/index.html"):
        reply = await browser.get(path)
        assert "<title>Slipway</title>" in reply.text
        assert reply.headers["cache-control"] == "no-store"


async def test_built_files_are_kept_by_browsers(browser: httpx.AsyncClient) -> None:
    assert "immutable" in (await browser.get("/assets/app-1a2b.js")).headers["cache-control"]
    missing = await browser.get("/assets/gone.js")
    assert_problem(missing, 404, "not_found")
    assert missing.headers["cache-control"] == "no-store"


async def test_built_files_are_sent_compressed_to_clients_that_accept_it(
    browser: httpx.AsyncClient, dist: Path
) -> None:
    code = "const harbour = 'open';" * 200
    (dist / "assets" / "app-1a2b.js").write_text(code)
    (dist / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(code.encode()))
    for accepted, encoding in (
        ("gzip, deflate, br", "gzip"),
        ("br;q=1.0, gzip;q=0", None),
        ("identity", None),
    ):
        reply = await browser.get("/assets/app-1a2b.js", headers={"Accept-Encoding": accepted})
        assert reply.text == code
        assert reply.headers.get("content-encoding") == encoding
        assert reply.headers["vary"] == "Accept-Encoding"
        assert "javascript" in reply.headers["content-type"]
        assert (int(reply.headers["content-length"]) < 200) is (encoding is not None)
        kept = {"Accept-Encoding": accepted, "If-None-Match": reply.headers["etag"]}
        assert (await browser.get("/assets/app-1a2b.js", headers=kept)).status_code == 304


async def test_only_built_files_are_served(browser: httpx.AsyncClient) -> None:
    for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "//etc/passwd"):
        reply = await browser.get(path)
        assert "secret" not in reply.text
        assert "root:" not in reply.text


async def test_a_missing_front_end_explains_itself(app: App, config: Config, tmp_path: Path) -> None:
    public = create_app(config)
    public.router.default = Frontend(directory=tmp_path / "none", check_dir=False)
    async with http_client(WithState(public, app.state)) as client:
        assert "make frontend" in (await client.get("/")).text
        assert_problem(await client.get("/api/v1/nowhere"), 404, "not_found")


async def test_status_routes_need_no_key(anonymous: httpx.AsyncClient, inner: httpx.AsyncClient) -> None:
    assert (await anonymous.get("/alive")).json() == {"status": "ok"}
    assert (await anonymous.get("/ready")).json() == "OK"
    info = (await anonymous.get("/server_info")).json()
    assert info["uptime"] >= 0
    assert set(info["resources"]) == {"cpu_percent", "memory", "disk", "io"}
    assert (await inner.get("/health")).json() == {"status": "ok"}


async def test_the_inner_app_serves_nothing_of_the_public_one(inner: httpx.AsyncClient) -> None:
    for path in ("/api/v1/users/me", "/openapi.json", "/", "/api/v1/settings/profiles"):
        assert_problem(await inner.get(path), 404, "not_found")


async def test_the_api_describes_itself_and_its_problems(anonymous: httpx.AsyncClient) -> None:
    described = (await anonymous.get("/openapi.json")).json()
    operation = described["paths"]["/api/v1/users/me"]["get"]
    assert set(operation["responses"]) == {"200", "default"}
    assert "application/problem+json" in operation["responses"]["default"]["content"]
    assert "Problem" in described["components"]["schemas"]
    assert (await anonymous.get("/docs")).headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(("host", "have_names"), [("localhost:3000", True), ("build.lan:3000", False)])
async def test_a_browser_is_told_whether_ports_have_names_at_its_address(
    app: App, host: str, have_names: bool
) -> None:
    config = app.config.model_copy(update={"allowed_hosts": ["build.lan:3000"]})
    async with http_client(WithState(create_app(config), app.state)) as client:
        told = (await client.get("/api/v1/web-client/config", headers={"Host": host})).json()
    assert told["ports_have_names"] is have_names


async def test_what_a_browser_needs_before_sign_in(anonymous: httpx.AsyncClient) -> None:
    config = (await anonymous.get("/api/v1/web-client/config")).json()
    assert config["sandbox"]["backend"] == "process"
    assert config["sandbox"]["isolation"] in {"files", "none"}
    assert config["sandbox"]["is_isolated"] is False
    assert config["demo"]["profile"] == "demo"
    assert (Path(config["demo"]["repository"]) / ".git").is_dir()
