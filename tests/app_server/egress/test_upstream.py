"""Tests of the proxy where all calls to the outside must go through a company's proxy."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app_server.core.addresses import parse_named
from app_server.core.errors import ConfigurationError, Forbidden
from app_server.http.guarded_client import Guard, GuardedTransport
from app_server.http.outgoing_proxy import Upstream, upstream_of
from tests.app_server.egress.conftest import WayOut
from tests.app_server.egress.test_credentials import HOST, TOKEN, curl, give
from tests.support.outside import NEIGHBOUR, Dns, says, site
from tests.support.upstream_proxy import UpstreamProxy, upstream_proxy

pytestmark = pytest.mark.low_ports


@pytest.fixture
async def company() -> AsyncIterator[UpstreamProxy]:
    async with upstream_proxy() as proxy:
        yield proxy


@pytest.fixture
async def upstream(company: UpstreamProxy) -> Upstream:
    """Returns how the proxy reaches the outside: through the company's proxy, as environment variables name
    it.
    """
    return upstream_of(
        {"HTTPS_PROXY": company.url, "http_proxy": company.url, "NO_PROXY": "near.allowed.test,10.0.0.0/8"}
    )


async def test_everything_goes_through_it_by_name(way_out: WayOut, company: UpstreamProxy) -> None:
    async with (
        way_out.site("allowed.test", says("encrypted")) as site,
        way_out.site("plain.allowed.test", says("plain"), tls=False) as plain,
    ):
        for name in ("allowed.test", "plain.allowed.test"):
            # Only the company's proxy can resolve these names.
            company.hosts[name] = way_out.dns.answers.pop(name)[0][0]
        assert await way_out.curl("https://allowed.test/a") == "encrypted"
        assert await way_out.curl("http://plain.allowed.test/b?c=d") == "plain"

    assert company.asked == [
        "CONNECT allowed.test:443 HTTP/1.1",
        "GET http://plain.allowed.test/b?c=d HTTP/1.1",
    ]
    assert site.seen == [("GET", "allowed.test", "/a")]
    assert plain.seen == [("GET", "plain.allowed.test", "/b?c=d")]


async def test_a_credential_goes_through_it_unseen(
    way_out: WayOut, company: UpstreamProxy, client: httpx.AsyncClient
) -> None:
    await give(client)
    async with way_out.site(HOST, says("hello" * 100_000)) as site:
        company.hosts[HOST] = way_out.dns.answers[HOST][0][0]
        assert await curl(way_out, f"https://{HOST}/") == "hello" * 100_000

    assert company.asked == [f"CONNECT {HOST}:443 HTTP/1.1"]
    assert site.headers[0]["authorization"] == f"Bearer {TOKEN}"


async def test_what_is_not_allowed_or_private_does_not_get_that_far(
    way_out: WayOut, company: UpstreamProxy
) -> None:
    way_out.dns.answers["inside.allowed.test"] = [["10.1.2.3"]]
    assert "is not on this conversation's list" in await way_out.curl("-v", "https://elsewhere.test/")
    assert "leads to a private address" in await way_out.curl("-v", "https://inside.allowed.test/")

    assert company.asked == []


async def test_what_it_refuses_is_said_to_be_its_doing(way_out: WayOut, company: UpstreamProxy) -> None:
    said = await way_out.curl("-v", "https://allowed.test/")

    assert "502 Slipway: the proxy of this server's network does not let allowed.test:443 through" in said
    assert company.asked == ["CONNECT allowed.test:443 HTTP/1.1"]
    assert await way_out.reasons() == [("allowed.test", "upstream_refused")]


async def test_what_is_exempt_is_called_directly(way_out: WayOut, company: UpstreamProxy) -> None:
    async with way_out.site("near.allowed.test", says("near")):
        assert await way_out.curl("https://near.allowed.test/") == "near"

    assert company.asked == []


async def test_calls_of_the_server_go_through_it_once_they_are_judged(
    upstream: Upstream, company: UpstreamProxy
) -> None:
    dns = Dns({"models.test": [[NEIGHBOUR]], "inside.test": [["10.1.2.3"]]})
    guard = Guard(parse_named([NEIGHBOUR]), dns.resolve, upstream)
    async with (
        site(says("hello")) as found,
        httpx.AsyncClient(transport=GuardedTransport(guard)) as client,
    ):
        company.hosts |= {"models.test": NEIGHBOUR, "only-there.test": NEIGHBOUR}
        for name in ("models.test", "only-there.test"):
            assert (await client.get(f"http://{name}:{found.port}/v1")).text == "hello"
        with pytest.raises(Forbidden, match="leads to a private address"):
            await client.get("http://inside.test/")

    assert [line.split("/")[2] for line in company.asked] == [
        f"models.test:{found.port}",
        f"only-there.test:{found.port}",
    ]


@pytest.mark.parametrize(
    ("exempt", "host", "is_direct"),
    [
        ("*", "example.org", True),
        ("example.org", "example.org", True),
        (".example.org", "a.example.org", True),
        ("*.example.org", "a.example.org", True),
        ("example.org", "badexample.org", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("::1, fd00::/8", "fd00::5", True),
        ("", "example.org", False),
    ],
)
def test_exemptions(exempt: str, host: str, is_direct: bool) -> None:
    upstream = upstream_of({"https_proxy": "proxy.test:3128", "no_proxy": exempt})

    assert (upstream.proxy_for(host) is None) == is_direct


@pytest.mark.parametrize("proxy", ["socks5://proxy.test:1080", "https://proxy.test", "http://", "http://a:b"])
def test_a_proxy_that_cannot_be_used_stops_the_start(proxy: str) -> None:
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY"):
        upstream_of({"HTTPS_PROXY": proxy})
