"""Tests of requests to the ports of sandboxes, over a real listener and a real agent server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.app_server.conftest import App
from tests.app_server.gateway.conftest import Site, link
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.sandbox_site import PIECE

PIECES = 1000


async def test_a_request_arrives_as_it_was_sent_and_nothing_of_ours_with_it(
    visitor: httpx.AsyncClient, client: httpx.AsyncClient, site: Site
) -> None:
    origin = f"http://{visitor.headers['host']}"
    cookies = f"{visitor.headers['cookie']}; theirs=1; slipway_session=s; __Host-slipway_session=s; b=2"
    reply = await visitor.request(
        "PROPFIND",
        "/",
        extensions={"target": b"/a%2Fb/%E2%82%AC//../c?x=%20y&z"},
        content="body",
        headers=[
            ("Cookie", cookies),
            ("Authorization", client.headers["Authorization"]),
            ("X-Session-API-Key", "their own"),
            ("Connection", "keep-alive, X-Hop"),
            ("X-Hop", "1"),
            ("X-Many", "1"),
            ("X-Many", "2"),
            ("X-Forwarded-For", "10.0.0.1"),
            ("X-Slipway-Session-API-Key", "forged"),
            ("Origin", origin),
            ("Referer", f"{origin}/page?x"),
            ("Accept-Encoding", "br, zstd"),
        ],
    )
    seen = reply.json()
    assert (seen["method"], seen["path"], seen["query"], seen["body"]) == (
        "PROPFIND",
        "/a%2Fb/%E2%82%AC//../c",
        "x=%20y&z",
        "body",
    )
    headers = [(name, value) for name, value in seen["headers"] if name not in {"accept", "user-agent"}]
    assert sorted(headers) == [
        ("accept-encoding", "br, zstd"),
        ("content-length", "4"),
        ("cookie", "theirs=1; b=2"),
        ("host", f"localhost:{site.port}"),
        ("origin", f"http://localhost:{site.port}"),
        ("referer", f"http://localhost:{site.port}/page?x"),
        ("x-many", "1"),
        ("x-many", "2"),
        ("x-session-api-key", "their own"),
    ]
    assert site.sandbox.client.session_key not in reply.text


async def test_a_reply_comes_as_it_was_sent_but_for_what_would_reach_further(
    visitor: httpx.AsyncClient, site: Site
) -> None:
    asked = [
        ("Set-Cookie", "theirs=1; Path=/; Domain=localhost; HttpOnly"),
        ("Set-Cookie", "slipway_session=tossed; Path=/"),
        ("Set-Cookie", "slipway_preview=tossed"),
        ("Clear-Site-Data", '"cookies"'),
        ("Strict-Transport-Security", "max-age=1; includeSubDomains"),
        ("Content-Encoding", "unheard-of"),
        ("X-Theirs", "1"),
        ("X-Slipway-Not-Answered", "port_not_listening"),
    ]
    async with visitor.stream("GET", "/given", params=asked) as reply:
        body = b"".join([piece async for piece in reply.aiter_raw()])
        assert body == b"<h1>given</h1>"
    headers = reply.headers
    assert headers.get_list("set-cookie") == ["theirs=1; Path=/; HttpOnly"]
    assert headers["content-encoding"] == "unheard-of"
    assert headers["x-theirs"] == "1"
    assert not {"clear-site-data", "strict-transport-security", "x-frame-options"} & set(headers)
    assert headers["content-security-policy"].startswith("frame-ancestors 'self' http://localhost:")
    for told, moved in (
        (f"http://localhost:{site.port}/x?y", "/x?y"),
        (f"http://127.0.0.1:{site.port}", "/"),
        ("/x", "/x"),
        ("http://localhost:1/x", "http://localhost:1/x"),
        ("https://example.org/", "https://example.org/"),
    ):
        away = await visitor.get("/away", params={"to": told})
        assert (away.status_code, away.headers["location"]) == (302, moved)


async def test_large_bodies_stream_both_ways_and_a_reply_without_end_ends_with_its_reader(
    visitor: httpx.AsyncClient, site: Site
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            yield PIECE

    counted = await visitor.post("/counted", content=pieces())
    assert counted.text == str(PIECES * len(PIECE))
    told = {"Content-Length": str(PIECES * len(PIECE))}
    assert (await visitor.post("/counted", content=pieces(), headers=told)).text == counted.text
    async with visitor.stream("GET", "/large", params={"pieces": PIECES}) as reply:
        total = 0
        async for piece in reply.aiter_raw():
            total += len(piece)
    assert total == PIECES * len(PIECE)
    async with visitor.stream("GET", "/drip") as reply:
        first = await anext(reply.aiter_raw())
    assert first == b"data: first\n\n"


async def test_sockets(visitor: httpx.AsyncClient, site: Site) -> None:
    origin = f"http://{visitor.headers['host']}"
    async with socket(visitor, "/echo?x", origin=origin, subprotocols=["one", "two"]) as echo:
        assert echo.subprotocol == "two"
        hello = await echo.recv()
        assert f'"origin":"http://localhost:{site.port}"' in hello
        assert f'"host":"localhost:{site.port}"' in hello
        assert "slipway" not in hello
        for message in ("text", b"\x00binary", "", "x" * 4_000_000):
            await echo.send(message)
            assert await echo.recv() == message
        await echo.send("close")
        with pytest.raises(ConnectionClosed) as closed:
            await echo.recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4321, "as you wish")
    for path, status in (("/closed", 403), ("/nowhere", 403)):
        with pytest.raises(InvalidStatus) as refused:
            await socket(visitor, path)
        assert refused.value.response.status_code == status
    with pytest.raises(InvalidStatus) as refused:
        await socket(visitor, "/echo", origin="http://evil.example")
    assert refused.value.response.status_code == 403


async def test_by_path_a_program_is_in_an_opaque_origin_and_keeps_no_cookies(
    by_path: httpx.AsyncClient, site: Site
) -> None:
    prefix = by_path.base_url.path.rstrip("/")
    reply = await by_path.get("a%2Fb?x", headers={"Cookie": "slipway_session=s; theirs=1", "Origin": "null"})
    sent = dict(reply.json()["headers"])
    assert (reply.json()["path"], reply.json()["query"]) == ("/a%2Fb", "x")
    assert "cookie" not in sent
    assert sent["x-forwarded-prefix"] == prefix
    assert sent["origin"] == f"http://localhost:{site.port}"
    far = {
        "Set-Cookie": "theirs=1",
        "Clear-Site-Data": '"cookies"',
        "Service-Worker-Allowed": "/",
        "NEL": "{}",
        "WWW-Authenticate": "Basic",
        "Referrer-Policy": "unsafe-url",
        "Access-Control-Allow-Credentials": "true",
        "Content-Security-Policy": "default-src 'self'",
        "X-Theirs": "1",
    }
    given = (await by_path.get("given", params=far)).headers
    gone = {"set-cookie", "clear-site-data", "service-worker-allowed", "nel", "www-authenticate"}
    assert not gone & set(given)
    assert "access-control-allow-credentials" not in given
    policies = given.get_list("content-security-policy")
    assert policies[0] == "default-src 'self'"
    assert policies[1].startswith("sandbox ")
    assert "allow-same-origin" not in policies[1]
    assert given["referrer-policy"] == "no-referrer"
    assert given["x-theirs"] == "1"
    for told, moved in (
        ("/x", f"{prefix}/x"),
        (f"http://localhost:{site.port}/x", f"{prefix}/x"),
        (f"{prefix}/x", f"{prefix}/x"),
        ("//example.org/", "//example.org/"),
    ):
        assert (await by_path.get("away", params={"to": told})).headers["location"] == moved
    asked = {"Origin": "null", "Access-Control-Request-Method": "PUT"}
    allowed = await by_path.options("x", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == "*"
    assert allowed.headers["access-control-allow-methods"] == "PUT"
    without_slash = await by_path.get(
        f"{by_path.base_url.scheme}://{by_path.base_url.netloc.decode()}{prefix}"
    )
    assert without_slash.headers["location"] == f"{prefix}/"
    async with socket(by_path, f"{prefix}/echo", origin="null") as echo:
        assert f'"origin":"http://localhost:{site.port}"' in await echo.recv()


async def test_what_cannot_be_shown_says_why(
    app: App, visitor: httpx.AsyncClient, client: httpx.AsyncClient, site: Site, address: str
) -> None:
    """Each case has its own error: no program listens on the port, the sandbox sleeps, the sandbox is
    deleted.
    """
    silent = await link(client, site.sandbox.id, port=free_port())
    async with httpx.AsyncClient(follow_redirects=False) as other:
        opened = await client.get(silent)
        host = {"Host": httpx.URL(silent).netloc.decode(), "Cookie": opened.headers["set-cookie"]}
        reply = await other.get(address, headers=host)
        assert_problem(reply, 502, "port_not_listening")
        page = await other.get(address, headers={**host, "Accept": "text/html"})
        assert "Nothing listens on port" in page.text
        assert "frame-ancestors 'self' http" in page.headers["content-security-policy"]
        with pytest.raises(InvalidStatus):
            await connect(f"ws://{address[7:]}", additional_headers=host)  # type: ignore[arg-type]
    await app.state["sandboxes"].pause(site.sandbox.id)
    assert_problem(await visitor.get("/"), 409, "sandbox_not_running")
    assert_problem(await client.get(f"/api/v1/sandboxes/{site.sandbox.id}/ports"), 409, "sandbox_not_running")
    await app.state["sandboxes"].delete(site.sandbox.id)
    assert_problem(await visitor.get("/"), 410, "link_expired")


async def test_pages_end_with_the_key_that_their_link_was_made_with(
    visitor: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    async with socket(visitor, "/echo") as opened, visitor.stream("GET", "/drip") as dripping:
        await opened.recv()
        pieces = dripping.aiter_text()
        assert await anext(pieces) == "data: first\n\n"
        [key] = (await client.get("/api/v1/api-keys")).json()
        assert (await client.delete(f"/api/v1/api-keys/{key['id']}")).status_code == 204
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(ConnectionClosed):
                await opened.recv()
            with pytest.raises(httpx.RemoteProtocolError):
                await anext(pieces)
    assert_problem(await visitor.get("/"), 410, "link_expired")


def socket(visitor: httpx.AsyncClient, path: str, **options: Any) -> connect:
    """Opens a WebSocket to the web server, with the visitor's cookie and host name."""
    url = visitor.base_url
    given = {name: visitor.headers[name] for name in ("Cookie",) if name in visitor.headers}
    return connect(
        f"ws://{visitor.headers['host']}{path}",
        host=url.host,
        port=url.port,
        additional_headers=given,
        proxy=None,
        max_size=None,
        **options,
    )


async def gives_no_orders(visitor: httpx.AsyncClient) -> None:
    orders = {
        "X-Accel-Redirect": "/internal/secret",
        "X-Accel-Expires": "86400",
        "X-Accel-Limit-Rate": "1",
        "X-Accel-Buffering": "yes",
        "X-Accel-Charset": "utf-16",
        "X-Sendfile": "/etc/passwd",
        "X-LIGHTTPD-send-file": "/etc/passwd",
        "X-LiteSpeed-Location": "/internal/secret",
    }
    given = (await visitor.get("given", params={**orders, "X-Theirs": "1"})).headers
    assert not {name.lower() for name in orders} & set(given)
    assert given["x-theirs"] == "1"


async def test_a_page_at_its_own_name_gives_no_orders_to_a_proxy_in_front(visitor: httpx.AsyncClient) -> None:
    await gives_no_orders(visitor)


async def test_a_page_below_a_path_gives_no_orders_to_a_proxy_in_front(by_path: httpx.AsyncClient) -> None:
    await gives_no_orders(by_path)
