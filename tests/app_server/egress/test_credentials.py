"""Tests of credentials that the proxy adds to calls: which calls get them and which do not, and that no
answer brings them into the sandbox.
"""

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.egress.conftest import WayOut
from tests.app_server.egress.credential_calls import HOST, ROUTE, TOKEN, give
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.outside import Site, own_address, says

pytestmark = pytest.mark.low_ports


async def curl(way_out: WayOut, *arguments: str) -> str:
    return (await way_out.run_as_agents("curl", "-sS", "--max-time", "60", *arguments))[1]


@asynccontextmanager
async def echoing(way_out: WayOut, change: Callable[[str], str] = str) -> AsyncIterator[Site]:
    """Serves a host that answers with the Authorization header of the request, changed by `change`. Yields
    the site.
    """
    seen: list[Site] = []

    def echo(_host: str, _path: str) -> tuple[int, dict[str, str], bytes]:
        sent = change(seen[0].headers[-1].get("authorization", "nothing"))
        return 200, {"X-Echo": sent}, sent.encode()

    async with way_out.site(HOST, echo) as site:
        seen.append(site)
        yield site


@pytest.mark.parametrize(
    ("fields", "header", "content"),
    [
        ({}, "authorization", f"Bearer {TOKEN}"),
        (
            {"kind": "basic", "username": "me"},
            "authorization",
            "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode(),
        ),
        ({"kind": "header", "header": "X-Api-Key"}, "x-api-key", TOKEN),
    ],
)
async def test_a_call_goes_out_with_it_in_place_of_what_the_sandbox_sent(
    way_out: WayOut, client: httpx.AsyncClient, fields: dict[str, str], header: str, content: str
) -> None:
    given = await give(client, **fields)
    async with way_out.site(HOST, says("hello")) as site:
        said = await curl(way_out, "-H", f"{header}: my own", f"https://{HOST}/a?b=c")
        twice = await curl(way_out, f"https://{HOST}/1", f"https://{HOST}/2")
    [shown] = (await client.get(ROUTE)).json()
    uses = (await client.get(f"{ROUTE}/{given['id']}/uses")).json()["items"]

    assert said == "hello"
    assert twice == "hellohello"
    assert [sent[header] for sent in site.headers] == [content] * 3
    assert site.seen[0] == ("GET", HOST, "/a?b=c")
    assert [(use["method"], use["path"]) for use in uses] == [("GET", "/2"), ("GET", "/1"), ("GET", "/a")]
    assert uses[0]["sandbox_id"] == way_out.sandbox_id.hex
    assert shown["last_used_at"] is not None
    assert TOKEN not in json.dumps([shown, uses])
    records = [record for record in await way_out.records() if record.host == HOST]
    assert (sum(record.count for record in records), {record.reason for record in records}) == (3, {""})


async def test_bodies_pass_both_ways(way_out: WayOut, client: httpx.AsyncClient, tmp_path: Path) -> None:
    await give(client)
    large = tmp_path / "large"
    large.write_bytes(b"x" * 3_000_000)
    async with way_out.site(HOST, lambda _host, _path: (200, {}, large.read_bytes())) as site:
        fetched = tmp_path / "fetched"
        await curl(way_out, "-T", str(large), "-o", str(fetched), f"https://{HOST}/upload")
        head = await curl(way_out, "-I", f"https://{HOST}/head")

    assert fetched.read_bytes() == large.read_bytes()
    assert "200 Said" in head
    assert [sent["authorization"] for sent in site.headers] == [f"Bearer {TOKEN}"] * 2
    await eventually(partial(way_out.has_sent, 3_000_000))


async def test_other_hosts_other_ports_and_plain_http_go_without_it(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    await give(client)
    async with (
        way_out.site("other.allowed.test", says("other")) as other,
        way_out.site(HOST, says("plain"), tls=False) as plain,
    ):
        assert await way_out.curl("https://other.allowed.test/") == "other"
        assert await way_out.curl(f"http://{HOST}/") == "plain"

    assert "authorization" not in other.headers[0]
    assert "authorization" not in plain.headers[0]
    assert (await client.get(ROUTE)).json()[0]["last_used_at"] is None


async def test_a_redirect_takes_it_nowhere_else(way_out: WayOut, client: httpx.AsyncClient) -> None:
    await give(client)

    def on(_host: str, _path: str) -> tuple[int, dict[str, str], bytes]:
        return 302, {"Location": "https://other.allowed.test/taken"}, b""

    async with way_out.site(HOST, on), way_out.site("other.allowed.test", says("arrived")) as other:
        both = ("--cacert", str(_both(way_out)))
        said = await curl(way_out, "-L", *both, f"https://{HOST}/")

    assert said == "arrived"
    assert "authorization" not in other.headers[0]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(str, id="in clear"),
        pytest.param(lambda sent: sent[::-1], id="reversed"),
        pytest.param(lambda sent: base64.b64encode(sent.encode()).decode(), id="base64"),
        pytest.param(lambda sent: sent.encode().hex(), id="hexadecimal"),
    ],
)
async def test_a_host_that_repeats_it_does_not_show_it(
    way_out: WayOut, client: httpx.AsyncClient, change: Callable[[str], str]
) -> None:
    await give(client)
    async with echoing(way_out, change) as site:
        said = await curl(way_out, "-i", "--compressed", "-r", "0-9", f"https://{HOST}/echo")

    assert site.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert site.headers[0]["accept-encoding"] == "identity"
    assert "range" not in site.headers[0]
    assert "*" * 8 in said
    for form in (TOKEN, TOKEN[::-1], TOKEN.encode().hex(), base64.b64encode(TOKEN.encode()).decode()[:12]):
        assert form not in said
    assert change(TOKEN)[4:-4] not in said


async def test_trace_requests_are_refused(way_out: WayOut, client: httpx.AsyncClient) -> None:
    await give(client)
    async with echoing(way_out) as site:
        said = await curl(way_out, "-i", "-X", "TRACE", f"https://{HOST}/")

    assert "405 Slipway" in said
    assert site.seen == []


@pytest.mark.parametrize(
    ("path", "is_open"),
    [
        ("/team", True),
        ("/team/@scope%2fpackage?x=/..", True),
        ("/teams", False),
        ("/", False),
        ("/team/../other", False),
        ("/team/%2e%2e/other", False),
        ("/team/%252e%252e/other", False),
        ("/team/..;a=b/other", False),
        ("/team/..%5cother", False),
        ("/team%00", False),
    ],
)
async def test_a_path_limits_it(way_out: WayOut, client: httpx.AsyncClient, path: str, is_open: bool) -> None:
    await give(client, path_prefix="/team/")
    async with way_out.site(HOST, says("hello")) as site:
        sent = ("--path-as-is", "-H", "X-Original-URL: /team", "-H", "Authorization: my own")
        assert await curl(way_out, *sent, f"https://{HOST}{path}") == "hello"

    assert site.headers[0]["authorization"] == (f"Bearer {TOKEN}" if is_open else "my own")
    assert ("x-original-url" in site.headers[0]) != is_open


async def test_the_closest_one_is_added(way_out: WayOut, client: httpx.AsyncClient) -> None:
    await give(client, scope="server", value="of-the-server")
    await give(client, value="of-the-user")
    await give(client, scope="repository", repository="acme/shop", value="of-the-repository")
    await give(client, scope="repository", repository="acme/other", value="of-another")
    await give(client, scope="server", path_prefix="/deep", value="of-a-path")
    async with way_out.site(HOST, says("hello")) as site:
        await curl(way_out, f"https://{HOST}/", f"https://{HOST}/deep/er")
        for row in (await client.get(ROUTE)).json():
            if row["scope"] == "repository":
                assert (await client.delete(f"{ROUTE}/{row['id']}")).status_code == 204
        await curl(way_out, f"https://{HOST}/")

    assert [sent["authorization"] for sent in site.headers] == [
        "Bearer of-the-repository",
        "Bearer of-a-path",
        "Bearer of-the-user",
    ]


async def test_one_is_replaced_where_it_was_given_out(client: httpx.AsyncClient) -> None:
    place = {"scope": "repository", "path_prefix": "/team", "allow": False}
    first = await give(client, **place, repository="acme/shop")
    second = await give(client, **place, repository=first["repository"], kind="basic", username="me")

    assert (first["id"], first["repository"]) == (second["id"], "github.com/acme/shop")
    assert [row["kind"] for row in (await client.get(ROUTE)).json()] == ["basic"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"host": "https://registry.test"},
        {"host": "*.registry.test"},
        {"port": 0},
        {"path_prefix": "team"},
        {"path_prefix": "/team/.."},
        {"value": "short"},
        {"value": "a-value\r\nX-Header: 1"},
        {"kind": "header"},
        {"kind": "header", "header": "Host"},
        {"kind": "header", "header": "Proxy-Authorization"},
        {"header": "X-Api-Key"},
        {"username": "me"},
        {"scope": "repository"},
        {"repository": "acme/shop"},
    ],
)
async def test_what_cannot_be_meant_is_refused(client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    reply = await client.post(ROUTE, json={"host": HOST, "value": TOKEN, **wrong})

    assert_problem(reply, 422, "validation_failed")
    assert TOKEN not in reply.text
    assert (await client.get(ROUTE)).json() == []


async def test_members_reach_their_own_alone_and_see_the_servers(app: App, client: httpx.AsyncClient) -> None:
    own, shared = await give(client), await give(client, scope="server")
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as member:
        seen = (await member.get(ROUTE)).json()
        body = {"host": HOST, "value": TOKEN, "scope": "server"}
        assert_problem(await member.post(ROUTE, json=body), 403, "forbidden")
        assert_problem(await member.delete(f"{ROUTE}/{shared['id']}"), 403, "forbidden")
        for method, path in (("DELETE", own["id"]), ("GET", f"{own['id']}/uses")):
            reply = await member.request(method, f"{ROUTE}/{path}")
            assert_problem(reply, 404, "credential_not_found")

    assert [(row["id"], row["is_own"]) for row in seen] == [(shared["id"], False)]
    assert len((await client.get(ROUTE)).json()) == 2


async def test_an_allowed_host_it_has_to_be(way_out: WayOut, client: httpx.AsyncClient) -> None:
    host = "elsewhere.test"
    assert (await give(client, host=host, allow=False))["is_allowed"] is False
    assert "is not on this conversation's list" in await curl(way_out, "-v", f"https://{host}/")
    assert (await give(client, host=host))["is_allowed"] is True
    way_out.dns.answers[host] = [[own_address()]]
    assert "does not answer" in await curl(way_out, f"https://{host}/")
    assert (await client.get("/api/v1/settings/network")).json()["hosts"] == [host]


async def test_a_host_without_a_good_certificate_gets_nothing(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    await give(client)
    async with way_out.site("other.allowed.test", says("hello")) as site:
        way_out.dns.answers[HOST] = way_out.dns.answers["other.allowed.test"]
        said = await curl(way_out, f"https://{HOST}/")

    assert "the certificate of registry.allowed.test:443 cannot be verified" in said
    assert site.seen == []
    assert await way_out.reasons() == [(HOST, "bad_certificate")]


async def test_programs_that_do_not_trust_the_proxy_are_recorded(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    await give(client)
    async with way_out.site(HOST, says("hello")) as site:
        assert "certificate" in await way_out.curl(f"https://{HOST}/")

    assert site.connections == 0
    await eventually(partial(_has_reasons, way_out, [(HOST, "not_trusted")]))


async def test_once_removed_it_is_added_no_more(way_out: WayOut, client: httpx.AsyncClient) -> None:
    given = await give(client)
    assert (await client.delete(f"{ROUTE}/{given['id']}")).status_code == 204
    async with way_out.site(HOST, says("hello")) as site:
        assert await way_out.curl(f"https://{HOST}/") == "hello"
    assert "authorization" not in site.headers[0]


def _both(way_out: WayOut) -> Path:
    """Writes a file with two certificates: of the tests' authority and of the app server's own authority.
    Returns its path.
    """
    bundle = way_out.authority.file.with_name("both.pem")
    own = way_out.app.config.home / "egress-authority.crt"
    bundle.write_bytes(way_out.authority.file.read_bytes() + own.read_bytes())
    return bundle


async def _has_reasons(way_out: WayOut, wanted: list[tuple[str, str]]) -> bool:
    return await way_out.reasons() == wanted
