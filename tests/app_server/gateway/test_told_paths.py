"""Tests of a program that is configured with the path of its link: the gateway recognises the program by its
first page, and returns the same link when the user requests it again.
"""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from app_server.main import WithState
from app_server.sandboxes.service import RunningSandbox
from tests.app_server.conftest import App, http_client
from tests.app_server.gateway.conftest import run, until_listening
from tests.support.apps import public_app

PORT = 8011


@pytest.fixture
async def at_path(app: App, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the owner at an app server where ports have no separate host names, so links
    have a path.
    """
    config = app.config.model_copy(update={"preview_domain": "", "allowed_hosts": ["slipway.lan"]})
    public = WithState(public_app(config), {**app.state, "config": config})
    async with http_client(public, headers={**client.headers, "Host": "slipway.lan"}) as owner:
        yield owner


async def made(client: httpx.AsyncClient, sandbox: RunningSandbox, **body: Any) -> dict[str, Any]:
    reply = await client.post(f"/api/v1/sandboxes/{sandbox.id}/links", json={"port": PORT, **body})
    link: dict[str, Any] = reply.raise_for_status().json()
    return link


async def serve_page_with(sandbox: RunningSandbox, url: str) -> None:
    """Starts a web server on PORT whose first page names the path of this link."""
    await run(sandbox, f"mkdir -p site; echo '<script src={urlsplit(url).path}x.js>' > site/index.html")
    await run(sandbox, f"(cd site; python3 -m http.server --bind 127.0.0.1 {PORT} >/dev/null 2>&1 &)")
    await until_listening(sandbox, PORT)


async def test_the_link_is_given_again_to_its_maker_alone(
    client: httpx.AsyncClient, at_path: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    told = await made(at_path, sandbox, keeps_prefix=True, lifetime_seconds=3600)
    assert told["keeps_prefix"]
    plain = await made(at_path, sandbox)
    assert not plain["keeps_prefix"], "nothing listens yet"
    await serve_page_with(sandbox, told["url"])
    assert await made(at_path, sandbox) == told
    assert (await made(at_path, sandbox, path="/a"))["url"] == f"{told['url']}a"

    assert (await made(at_path, sandbox, keeps_prefix=False))["url"] != told["url"]
    assert "/preview/" not in (await made(client, sandbox))["url"], "it has a host name there"
    key = (await client.post("/api/v1/api-keys", json={"name": "Another"})).raise_for_status().json()["key"]
    by_other = await at_path.post(
        f"/api/v1/sandboxes/{sandbox.id}/links",
        json={"port": PORT},
        headers={"Authorization": f"Bearer {key}"},
    )
    assert not by_other.json()["keeps_prefix"]


@pytest.mark.parametrize("other", [{"port": PORT + 1, "keeps_prefix": True}, {"keeps_prefix": False}])
async def test_another_link_that_a_page_names_is_not_taken_for_its_own(
    at_path: httpx.AsyncClient, sandbox: RunningSandbox, other: dict[str, Any]
) -> None:
    named = await made(at_path, sandbox, **{"lifetime_seconds": 3600, **other})
    await serve_page_with(sandbox, named["url"])

    link = await made(at_path, sandbox)

    assert (link["keeps_prefix"], link["url"] == named["url"]) == (False, False)
