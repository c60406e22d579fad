"""Tests of a sandbox whose image names its runtime plugins: every way to use another plugin is refused with
a reason.
"""

import httpx
import pytest
from sqlalchemy import update

from app_server.sandbox_records.models import Sandbox
from app_server.sandboxes.runtime_plugins import tools_offered
from app_server.sandboxes.service import RunningSandbox
from tests.app_server.conftest import App
from tests.app_server.gateway.conftest import link
from tests.app_server.problems import assert_problem

NOT_OFFERED = "runtime_plugin_not_offered"


@pytest.fixture
async def offers_browser(app: App, sandbox: RunningSandbox) -> str:
    """Stores that the sandbox's image offers only the plugin "browser". Returns the path of the route of the
    sandbox's plugins.
    """
    async with app.database.session() as session:
        await session.execute(
            update(Sandbox).where(Sandbox.id == sandbox.id).values(runtime_plugins=["browser"])
        )
    return f"/api/v1/sandboxes/{sandbox.id}/runtime-plugins"


async def test_others_are_not_there_and_do_not_start(client: httpx.AsyncClient, offers_browser: str) -> None:
    found = {one["name"]: one for one in (await client.get(offers_browser)).json()["items"]}

    for name in ("vscode", "desktop", "jupyter"):
        assert found[name]["status"] == "unavailable"
        assert "does not offer" in found[name]["reason"]
        assert "sandbox image" in found[name]["fix"]
        assert_problem(await client.post(f"{offers_browser}/{name}/start"), 403, NOT_OFFERED)
    assert "does not offer" not in (found["browser"]["reason"] or "")


async def test_no_link_leads_to_them(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, sandbox: RunningSandbox, offers_browser: str
) -> None:
    del offers_browser
    url = httpx.URL(await link(client, sandbox.id, name="VSCODE"))
    opened = await anonymous.get(url)
    cookie = opened.headers["set-cookie"].partition(";")[0]
    there = {"Host": url.netloc.decode(), "Cookie": cookie}
    assert_problem(await anonymous.get("/", headers=there), 403, NOT_OFFERED)
    base = await link(client, sandbox.id, name="AGENT_SERVER")
    for name in ("vscode", "desktop"):
        refused = await anonymous.post(f"{base}/api/runtime-plugins/{name}/start")
        assert_problem(refused, 403, NOT_OFFERED)
    (info,) = (await client.get("/api/v1/sandboxes", params={"id": str(sandbox.id)})).json()
    assert [one["name"] for one in info["exposed_urls"]] == ["AGENT_SERVER", "WORKER_1", "WORKER_2"]


def test_agents_get_no_tools_of_them() -> None:
    usable = {"terminal", "browser_tool_set", "execute_ipython_cell"}

    assert tools_offered(Sandbox(runtime_plugins=["browser"]), usable) == {"terminal", "browser_tool_set"}
    assert tools_offered(Sandbox(runtime_plugins=None), usable) == usable
