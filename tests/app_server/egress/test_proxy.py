"""Tests of the proxy to the outside: which calls it allows and refuses, and what it answers to programs."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import delete

from app_server.core.addresses import parse_rule
from app_server.egress import egress_log, settings
from app_server.egress.models import EgressScope
from app_server.egress.open_connections import MAX_CONNECTIONS
from app_server.egress.policy import EgressMode
from app_server.egress.settings import OF_USER, Scope
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.egress.conftest import WayOut
from tests.app_server.eventually import eventually
from tests.support.outside import own_address, says
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.low_ports


async def set_mode(app: App, owner: User, mode: EgressMode, scope: Scope = OF_USER) -> None:
    async with app.database.session() as session:
        await settings.save(session, owner.id, scope, mode, [])


async def test_https_goes_through_and_is_written_down(way_out: WayOut) -> None:
    async with way_out.site("allowed.test", says("hello")) as site:
        assert await way_out.curl("https://allowed.test/a") == "hello"
    await eventually(partial(way_out.has_sent, 100))
    [record] = await way_out.records()

    assert site.seen == [("GET", "allowed.test", "/a")]
    assert (record.host, record.port, record.reason, record.count) == ("allowed.test", 443, "", 1)
    assert record.client.startswith("curl/")
    assert record.bytes_received > 500


async def test_plain_http_goes_through_with_one_connection_for_several_requests(
    way_out: WayOut, tmp_path: Path
) -> None:
    async with way_out.site("allowed.test", lambda _host, path: (200, {}, path.encode()), tls=False) as site:
        urls = ("http://allowed.test/a", "http://ALLOWED.test./b?c=d#e", "http://allowed.test:80")
        said = await way_out.curl("-w", " %{num_connects} ", *urls)
        (tmp_path / "form").write_text("x" * 300_000)
        sent = await way_out.curl("-T", str(tmp_path / "form"), "http://allowed.test/")
        head = await way_out.curl("-I", "http://allowed.test/head")

    assert said == "/a 1 /b?c=d 0 / 0 "
    assert "/form" in sent
    assert "200 Said" in head
    assert {host for _method, host, _path in site.seen} == {"allowed.test"}
    await eventually(partial(way_out.has_sent, 300_000))


async def test_an_unlisted_host_is_refused_before_its_address_is_looked_up(
    way_out: WayOut,
) -> None:
    tunnel = await way_out.curl("-v", "https://elsewhere.test/")
    plain = await way_out.curl("-i", "http://elsewhere.test/")

    assert "403 Slipway: elsewhere.test:443 is not on this conversation's list of allowed hosts" in tunnel
    assert "your user can allow it in the chat" in tunnel
    assert "under Network in the settings" in plain
    assert "X-Slipway-Egress: not_allowed" in plain
    assert way_out.dns.asked == []
    assert await way_out.reasons() == [("elsewhere.test", "not_allowed")] * 2
    assert set(way_out.refused) == {way_out.sandbox_id}


async def test_what_a_user_allows_holds_for_the_next_attempt(way_out: WayOut, app: App, owner: User) -> None:
    async with way_out.site("wanted.test", says("hello")):
        assert "403" in await way_out.curl("https://wanted.test/")
        async with app.database.session() as session:
            rule = parse_rule("wanted.test")
            await settings.allow(session, owner.id, Scope.of_sandbox(way_out.sandbox_id), rule)
        assert await way_out.curl("https://wanted.test/") == "hello"


@pytest.mark.parametrize("scope", [OF_USER, Scope(EgressScope.REPOSITORY, "github.com/acme/shop")])
async def test_none_lets_nothing_through(way_out: WayOut, app: App, owner: User, scope: Scope) -> None:
    await set_mode(app, owner, EgressMode.NONE, scope)

    assert "the network is switched off" in await way_out.curl("http://allowed.test/")
    assert await way_out.reasons() == [("allowed.test", "network_off")]


async def test_the_repository_has_the_last_word_about_the_mode(
    way_out: WayOut, app: App, owner: User
) -> None:
    await set_mode(app, owner, EgressMode.NONE)
    await set_mode(app, owner, EgressMode.OPEN, Scope(EgressScope.REPOSITORY, "github.com/acme/shop"))
    async with way_out.site("anything.test", says("hello")):
        assert await way_out.curl("https://anything.test/") == "hello"
        assert "not on this conversation's list" in await way_out.curl("http://anything.test:8080/")


INWARD = [
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "0x7f.1",
    "10.0.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "100.64.0.1",
    "192.168.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "[::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a00:1]",
    "[2002:a00:1::]",
    "[64:ff9b::a00:1]",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "10-0-0-1.nip.test",
    "inner.test",
    "mixed.test",
    "metadata.test",
]


async def test_with_everything_open_what_is_inside_stays_closed(
    way_out: WayOut, app: App, owner: User
) -> None:
    await set_mode(app, owner, EgressMode.OPEN)
    way_out.dns.answers |= {
        "10-0-0-1.nip.test": [["10.0.0.1"]],
        "inner.test": [["::ffff:192.168.0.7"]],
        "mixed.test": [["8.8.8.8", "10.0.0.1"]],
        "metadata.test": [["169.254.169.254"]],
    }
    for host in INWARD:
        for lines in ((f"CONNECT {host}:443 HTTP/1.1",), (f"GET http://{host}/ HTTP/1.1",)):
            said = (await way_out.raw(*lines, f"Host: {host}")).decode()
            assert said.startswith(("HTTP/1.1 403 Slipway", "HTTP/1.1 400 Slipway")), (host, said)
    assert {reason for _host, reason in await way_out.reasons()} == {"private_address", "bad_host"}


async def test_a_name_is_asked_for_once_and_the_connection_goes_where_it_was_judged(
    way_out: WayOut,
) -> None:
    async with way_out.site("allowed.test", says("hello")):
        [[good]] = way_out.dns.answers["allowed.test"]
        way_out.dns.answers["allowed.test"] = [[good], ["10.0.0.1"]]
        assert await way_out.curl("https://allowed.test/") == "hello"
        assert way_out.dns.asked == ["allowed.test"]
        assert "leads to a private address" in await way_out.curl("-v", "https://allowed.test/")


async def test_each_step_of_a_chain_of_redirects_is_judged(way_out: WayOut) -> None:
    def on(host: str, _path: str) -> tuple[int, dict[str, str], bytes]:
        there = {"allowed.test": "http://next.allowed.test/", "next.allowed.test": "http://169.254.169.254/"}
        return 302, {"Location": there[host]}, b""

    async with way_out.site("allowed.test", on, tls=False), way_out.site("next.allowed.test", on, tls=False):
        said = await way_out.curl("-L", "http://allowed.test/")

    assert "169.254.169.254:80 leads to a private address" in said
    assert await way_out.reasons() == [("169.254.169.254", "private_address")]


async def test_a_tunnel_is_for_the_name_it_was_asked_for(way_out: WayOut) -> None:
    async with way_out.site("allowed.test", says("hello")) as site:
        fronted = await way_out.curl(
            "--connect-to", "hidden.test:443:allowed.test:443", "https://hidden.test/"
        )
        unnamed = await way_out.curl("-k", "--connect-to", "8.8.8.8:443:allowed.test:443", "https://8.8.8.8/")
        no_tls = await way_out.raw(
            "CONNECT allowed.test:443 HTTP/1.1", "Host: allowed.test", then=b"SSH-2.0-me\r\n"
        )

    assert "unrecognized name" in fronted
    assert "unrecognized name" in unnamed
    assert no_tls == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert site.seen == []
    assert sorted(await way_out.reasons()) == [("allowed.test", "not_tls"), ("allowed.test", "other_name")]


async def test_the_host_of_plain_http_is_the_one_that_was_judged(way_out: WayOut) -> None:
    async with way_out.site("allowed.test", says("hello"), tls=False) as site:
        assert await way_out.curl("-H", "Host: hidden.test", "http://allowed.test/") == "hello"
    assert site.seen == [("GET", "allowed.test", "/")]


async def test_ports_are_those_of_the_web_unless_one_is_named(way_out: WayOut) -> None:
    assert "not on this conversation's list" in await way_out.curl("-v", "https://allowed.test:22/")
    assert "not on this conversation's list" in await way_out.curl("http://allowed.test:8080/")
    assert "cannot be found in the DNS" in await way_out.curl("http://named.test:9999/")


@pytest.mark.parametrize("key", [None, "", "another-key"])
async def test_requests_without_the_key_of_a_sandbox_are_refused(way_out: WayOut, key: str | None) -> None:
    said = await way_out.raw("CONNECT allowed.test:443 HTTP/1.1", "Host: allowed.test", key=key)

    assert said.startswith(b"HTTP/1.1 407 ")
    assert b"proxy-authenticate: bearer" in said.lower()


async def test_the_key_of_a_sandbox_that_is_gone_opens_nothing(way_out: WayOut, app: App) -> None:
    async with app.database.session() as session:
        await session.execute(delete(Sandbox).where(Sandbox.id == way_out.sandbox_id))

    assert "407" in await way_out.curl("https://allowed.test/")


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT allowed.test HTTP/1.1",
        "CONNECT allowed.test:0 HTTP/1.1",
        "CONNECT user@allowed.test:443 HTTP/1.1",
        "GET http://user:word@allowed.test/ HTTP/1.1",
        "GET http:///nothing HTTP/1.1",
    ],
)
async def test_what_is_malformed_is_refused(way_out: WayOut, line: str) -> None:
    assert (await way_out.raw(line, "Host: allowed.test")).startswith(b"HTTP/1.1 400 Slipway")


async def test_a_head_without_end_is_cut_off(way_out: WayOut) -> None:
    said = await way_out.raw(f"GET http://allowed.test/{'a' * 1_000_000} HTTP/1.1", "Host: allowed.test")
    # The kernel decides whether the answer arrives before the connection ends.
    assert said == b"" or said.startswith(b"HTTP/1.1 400 Slipway")


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-server\r\n"])
async def test_a_host_that_does_not_answer_in_http_is_said_to_have_broken_off(
    way_out: WayOut, said: bytes
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    address = own_address()
    way_out.dns.answers["allowed.test"] = [[address]]
    server = await asyncio.start_server(serve, address, 80)
    answer = await way_out.curl("-i", "http://allowed.test/")
    server.close()

    assert "502 Slipway: the host closed the connection" in answer
    assert "X-Slipway-Egress: broken_answer" in answer


async def test_of_very_many_hosts_only_so_many_are_written_down_by_name(
    way_out: WayOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress_log, "MAX_HOSTS_PER_HOUR", 3)
    names = [f"host-{number}.test" for number in range(8)]
    lines = [f"CONNECT {name}:443 HTTP/1.1" for name in names]
    await asyncio.gather(*(way_out.raw(line, "Host: x") for line in [*lines, *lines]))
    records = await way_out.records()

    assert len(records) == 3 + 1
    assert len(way_out.refused) <= 3
    assert sum(record.count for record in records) == len(names) * 2
    assert [record.port for record in records if record.host == egress_log.FURTHER_HOSTS] == [0]


async def test_the_rest_of_the_listener_is_as_it_was(way_out: WayOut) -> None:
    said = await way_out.raw("GET /health HTTP/1.1", "Host: inner", "Connection: close", key=None)
    assert b'{"status":"ok"}' in said


async def test_a_hundred_connections_at_once_pass_and_too_many_are_refused(way_out: WayOut) -> None:
    enough = asyncio.Event()
    arrived = 0

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal arrived
        arrived += 1
        await enough.wait()
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with way_out.app.database.session() as session:
        owner_id = (await session.get_one(Sandbox, way_out.sandbox_id)).user_id
        await settings.allow(session, owner_id, OF_USER, parse_rule(f"127.0.0.1:{port}"))

    async def tunnel() -> bytes:
        return await way_out.raw(f"CONNECT 127.0.0.1:{port} HTTP/1.1", "Host: x", then=b"")

    held = [asyncio.create_task(tunnel()) for _ in range(MAX_CONNECTIONS)]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while arrived < MAX_CONNECTIONS:  # noqa: ASYNC110 (the other side of a socket)
            await asyncio.sleep(0.02)
    assert b"503 Slipway: too many connections" in await tunnel()
    enough.set()
    assert {*await asyncio.gather(*held)} == {b"HTTP/1.1 200 Connection established\r\n\r\n"}
    server.close()

    [record] = await way_out.records()
    assert record.count == MAX_CONNECTIONS
