"""Tests of links: a link opens one port of a sandbox to every person who has the link, until it expires."""

import asyncio
import time
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import ValidationError

from app_server.core.config import Config
from app_server.sandboxes.service import RunningSandbox
from tests.app_server.conftest import App, listening
from tests.app_server.gateway.conftest import Site, link
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS


async def test_a_link_ends_and_none_opens_nothing(
    visitor: httpx.AsyncClient, client: httpx.AsyncClient, anonymous: httpx.AsyncClient, site: Site
) -> None:
    short = await link(client, site.sandbox.id, port=site.port, lifetime_seconds=1)
    here = {"Host": urlsplit(short).netloc}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (reply := await anonymous.get(short)).status_code != 410:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
    assert_problem(reply, 410, "link_expired")
    assert_problem(await anonymous.get("/", headers=here), 401, "link_required")
    assert_problem(await client.get("/api/v1/users/me", headers=here), 401, "link_required")
    unknown = short.partition("token=")[0] + "token=eyJ.eyJ.x"
    assert_problem(await anonymous.get(unknown), 404, "link_unknown")
    assert_problem(await anonymous.get("/preview/eyJ.eyJ.x/"), 404, "link_unknown")
    other = {"Host": here["Host"].replace(f"p{site.port}", "p8000"), "Cookie": visitor.headers["Cookie"]}
    assert_problem(await anonymous.get("/", headers=other), 410, "link_expired")
    foreign = {"Origin": "http://evil.example"}
    assert_problem(await visitor.post("/counted", headers=foreign), 403, "origin_not_allowed")


async def test_other_ports_of_this_machine_are_not_ports_of_the_sandbox(
    app: App, client: httpx.AsyncClient, anonymous: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    async with listening(app.inner) as strange:
        ports = [urlsplit(strange).port, urlsplit(sandbox.client.url).port]
        listed = (await client.get(f"/api/v1/sandboxes/{sandbox.id}/ports")).json()["ports"]
        assert not {one["port"] for one in listed} & set(ports)
        for port in ports:
            url = await link(client, sandbox.id, port=port)
            cookie = (await anonymous.get(url)).headers["set-cookie"].partition(";")[0]
            headers = {"Host": urlsplit(url).netloc, "Cookie": cookie}
            assert_problem(await anonymous.get("/health", headers=headers), 502, "port_not_listening")


async def test_links_lead_to_an_address_that_the_caller_can_reach(
    app: App, client: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    named = urlsplit(await link(client, sandbox.id, name="VSCODE"))
    assert named.netloc == f"p8001-{sandbox.id.hex}.localhost:3000"
    for body in (
        {},
        {"name": "VSCODE", "port": 1},
        {"port": 0},
        {"port": 1, "path": "//evil.example"},
        {"port": 1, "path": "/\\evil.example"},
        {"port": 1, "path": "/\t/evil.example"},
        {"port": 1, "lifetime_seconds": 10**9},
    ):
        reply = await client.post(f"/api/v1/sandboxes/{sandbox.id}/links", json=body)
        assert_problem(reply, 422, "validation_failed")


def test_names_of_pages_need_tls(config: Config) -> None:
    with pytest.raises(ValidationError, match="needs a SLIPWAY_PUBLIC_URL"):
        Config(home=config.home, public_url="http://slipway.lan", preview_domain="preview.lan")
    config = Config(home=config.home, public_url="https://slipway.lan", preview_domain="preview.lan")
    assert config.preview_suffix == "preview.lan"
