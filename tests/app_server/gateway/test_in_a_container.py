"""Tests of a port of a container, which is reached through the container's agent server."""

from pathlib import Path

import httpx
import pytest

from app_server.core.config import Config
from app_server.sandboxes.service import RunningSandbox
from tests.app_server.conftest import App
from tests.app_server.gateway.conftest import link, run, until_listening
from tests.app_server.problems import assert_problem
from tests.support.ports import free_port
from tests.support.sandbox_image import sandbox_image

pytestmark = pytest.mark.docker


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    sandbox_image()
    return Config(home=tmp_path / "home", database_url=database_url, sandbox="docker", inner_port=free_port())


async def test_a_port_of_a_container(app: App, client: httpx.AsyncClient, sandbox: RunningSandbox) -> None:
    await run(sandbox, "echo harmless > index.html; (python3 -m http.server 5173 >/dev/null 2>&1 &)")
    await until_listening(sandbox, 5173)
    listed = (await client.get(f"/api/v1/sandboxes/{sandbox.id}/ports")).json()["ports"]
    assert [(one["port"], one["process_name"]) for one in listed] == [(5173, "python3 http.server")]
    for port, status in ((5173, 200), (8000, 502)):
        url = httpx.URL(await link(client, sandbox.id, port=port))
        opened = await client.get(url)
        cookie = opened.headers["set-cookie"].partition(";")[0]
        reply = await client.get(url.copy_with(raw_path=b"/"), headers={"Cookie": cookie})
        assert reply.status_code == status
    assert_problem(reply, 502, "port_not_listening")
