"""Tests of a user's MCP servers in the settings: which values may be saved, which are shown again, and
trying out a server.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app_server.mcp_servers.brokered_variables import definitions_for_sandboxes
from app_server.mcp_servers.models import McpServer
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem
from tests.support.mcp_processes import http_server
from tests.support.ports import free_port

ROUTE = "/api/v1/settings/mcp"
KEY = "canary-header-51f20a7c"
MASK = "**********"
REMOTE = {"url": "https://mcp.example.org/mcp?tenant=1", "headers": {"Authorization": f"Bearer {KEY}"}}


@pytest.fixture(scope="module")
def guarded_url() -> Iterator[str]:
    with http_server("tests.support.mcp_server", "http", SLIPWAY_TEST_MCP_KEY=KEY) as url:
        yield url


async def listed(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(ROUTE)).json()["mcp_config"]
    return found


async def test_headers_go_in_encrypted_and_never_come_out(app: App, client: httpx.AsyncClient) -> None:
    reply = await client.post(f"{ROUTE}/tracker", json=REMOTE)
    assert reply.status_code == 201
    assert reply.json() == {
        "transport": "http",
        "url": REMOTE["url"],
        "headers": {"Authorization": MASK},
        "auth": None,
        "sign_in": None,
        "wanted_scope": None,
        "command": None,
        "args": [],
        "env": {},
        "env_hosts": {},
        "cwd": None,
        "timeout": 300.0,
        "description": None,
        "enabled": True,
    }
    assert await listed(client) == {"tracker": reply.json()}
    async with app.database.read() as session:
        stored = await session.scalar(select(McpServer))
    assert stored is not None
    assert KEY not in stored.definition_encrypted
    assert KEY in app.state["cipher"].decrypt(stored.definition_encrypted)


async def test_a_command_is_shown_without_the_values_of_its_variables_and_keeps_them(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    command = {"type": "stdio", "command": "npx", "args": ["-y", "files"], "env": {"DEBUG": KEY}, "url": None}
    added = await client.post(f"{ROUTE}/files", json=command)
    assert added.status_code == 201
    shown = added.json()
    assert (shown["transport"], shown["args"], shown["env"]) == ("stdio", ["-y", "files"], {"DEBUG": MASK})
    assert_problem(await client.post(f"{ROUTE}/files/test"), 409, "mcp_server_runs_in_sandbox")

    off = await client.patch(f"{ROUTE}/files", json={"enabled": False})
    more = {"command": "uvx", "enabled": True, "env": {"DEBUG": MASK, "LEVEL": "low"}}
    changed = await client.patch(f"{ROUTE}/files", json=more)
    unknown = await client.patch(f"{ROUTE}/files", json={"env": {"NEW": MASK}})

    assert changed.json()["env"] == {"DEBUG": MASK, "LEVEL": MASK}
    assert_problem(unknown, 400, "mcp_variables_needed")
    listed_too = await client.get(ROUTE)
    assert [reply.text for reply in (added, off, changed, unknown, listed_too) if KEY in reply.text] == []
    async with app.database.read() as session:
        found = await definitions_for_sandboxes(session, app.state["cipher"], owner.id)
    assert found["files"].env == {"DEBUG": KEY, "LEVEL": "low"}


async def test_values_of_variables_go_to_no_host_that_they_were_not_given_for(
    client: httpx.AsyncClient,
) -> None:
    command = {
        "command": "npx",
        "env": {"TOKEN": KEY, "LEVEL": "low"},
        "env_hosts": {"TOKEN": ["API.example.org."]},
    }
    added = (await client.post(f"{ROUTE}/files", json=command)).json()
    assert added["env_hosts"] == {"TOKEN": ["api.example.org"], "LEVEL": []}

    hosts = ["api.example.org", "evil.example.org"]
    for wanted in ({"TOKEN": hosts}, {"TOKEN": []}, {}, None):
        refused = await client.patch(f"{ROUTE}/files", json={"env_hosts": wanted})
        assert_problem(refused, 409, "mcp_variables_needed")
    kept = await client.patch(f"{ROUTE}/files", json={"env": {"TOKEN": MASK}})
    assert kept.json()["env_hosts"] == {"TOKEN": ["api.example.org"]}
    moved = await client.patch(f"{ROUTE}/files", json={"env": {"TOKEN": KEY}, "env_hosts": {"TOKEN": hosts}})
    fewer = await client.patch(f"{ROUTE}/files", json={"env_hosts": {"TOKEN": hosts[1:]}})
    assert (moved.json()["env_hosts"], fewer.json()["env_hosts"]) == ({"TOKEN": hosts}, {"TOKEN": hosts[1:]})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"env_hosts": {"OTHER": ["api.example.org"]}}, "not a variable"),
        ({"env_hosts": {"TOKEN": ["*.example.org"]}}, "in full"),
        ({"env_hosts": {"TOKEN": ["a b"]}}, "host"),
        ({"env": {"TOKEN": "short"}, "env_hosts": {"TOKEN": ["api.example.org"]}}, "at least 8 characters"),
        ({"env": {"TOKEN": "a\nlong value"}, "env_hosts": {"TOKEN": ["api.example.org"]}}, "printable"),
    ],
)
async def test_hosts_of_variables_that_cannot_work_are_refused(
    client: httpx.AsyncClient, body: dict[str, Any], said: str
) -> None:
    reply = await client.post(f"{ROUTE}/files", json={"command": "npx", "env": {"TOKEN": KEY}, **body})
    assert_problem(reply, 422, "validation_failed")
    assert said in reply.text


async def test_well_known_variables_have_the_hosts_of_their_service_unless_the_user_says_otherwise(
    client: httpx.AsyncClient,
) -> None:
    env = {"GITHUB_PERSONAL_ACCESS_TOKEN": KEY, "LINEAR_API_KEY": "short", "LEVEL": "low"}
    known = await client.post(f"{ROUTE}/files", json={"command": "npx", "env": env})
    assert known.json()["env_hosts"] == {
        "GITHUB_PERSONAL_ACCESS_TOKEN": ["api.github.com"],
        "LINEAR_API_KEY": [],
        "LEVEL": [],
    }
    readable = {"command": "npx", "env": {"GITHUB_TOKEN": KEY}, "env_hosts": {"GITHUB_TOKEN": []}}
    said = await client.post(f"{ROUTE}/more", json=readable)
    assert said.json()["env_hosts"] == {"GITHUB_TOKEN": []}


async def test_changes_keep_what_is_left_out_and_stored_headers_stay_with_their_address(
    client: httpx.AsyncClient,
) -> None:
    await client.post(f"{ROUTE}/tracker", json=REMOTE)
    off = await client.patch(f"{ROUTE}/tracker", json={"enabled": False})
    assert off.json()["enabled"] is False
    assert off.json()["headers"] == {"Authorization": MASK}

    more = {"headers": {"Authorization": MASK, "X-Team": "harbour"}, "timeout": 60}
    assert (await client.patch(f"{ROUTE}/tracker", json=more)).json()["timeout"] == 60
    elsewhere = {"url": "https://evil.example.org/mcp"}
    assert_problem(await client.patch(f"{ROUTE}/tracker", json=elsewhere), 409, "mcp_headers_needed")
    unknown = {"headers": {"X-New": MASK}}
    assert_problem(await client.patch(f"{ROUTE}/tracker", json=unknown), 400, "mcp_headers_needed")
    moved = await client.patch(f"{ROUTE}/tracker", json={**elsewhere, "headers": {}})
    assert moved.json()["url"] == elsewhere["url"]

    wrong = await client.patch(f"{ROUTE}/tracker", json={"timeout": -1})
    assert_problem(wrong, 422, "validation_failed")
    assert wrong.json()["errors"][0]["loc"] == ["body", "timeout"]
    assert_problem(await client.post(f"{ROUTE}/tracker", json=REMOTE), 409, "mcp_server_exists")
    assert (await client.delete(f"{ROUTE}/tracker")).status_code == 204
    assert_problem(await client.delete(f"{ROUTE}/tracker"), 404, "mcp_server_not_found")
    assert_problem(await client.patch(f"{ROUTE}/tracker", json={}), 404, "mcp_server_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": "https://x.example.org", "command": "npx"},
        {"url": "ftp://x.example.org"},
        {"url": f"https://me:{KEY}@x.example.org"},
        {"url": "https://x.example.org", "transport": "sse"},
        {"url": "https://x.example.org", "transport": "stdio"},
        {"url": "https://x.example.org", "env": {"A": "b"}},
        {"command": "npx", "headers": {"Authorization": KEY}},
        {"url": "https://x.example.org", "headers": {"Mcp-Session-Id": KEY}},
        {"url": "https://x.example.org", "headers": {"Host": KEY}},
        {"url": "https://x.example.org", "headers": {"X-Key": f"{KEY}\r\nHost: y"}},
        {"url": "https://x.example.org", "headers": {"X Key": KEY}},
        {"url": "https://x.example.org", "unknown": 1},
        {"url": "https://x.example.org", "auth": {"strategy": "bearer", "value": KEY}},
        {"command": "npx", "auth": {"strategy": "oauth2"}},
        {
            "url": "https://x.example.org",
            "auth": {"strategy": "oauth2"},
            "headers": {"authorization": KEY},
        },
    ],
)
async def test_what_cannot_be_one_is_refused_without_being_repeated(
    client: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    reply = await client.post(f"{ROUTE}/tracker", json=body)
    assert_problem(reply, 422, "validation_failed")
    assert KEY not in reply.text
    assert await listed(client) == {}


async def test_another_user_has_others(app: App, client: httpx.AsyncClient) -> None:
    await client.post(f"{ROUTE}/tracker", json=REMOTE)
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        assert await listed(other) == {}
        assert_problem(await other.post(f"{ROUTE}/tracker/test"), 404, "mcp_server_not_found")
        assert (await other.post(f"{ROUTE}/tracker", json=REMOTE)).status_code == 201


async def test_a_server_that_is_tried_out_lists_its_tools(
    client: httpx.AsyncClient, guarded_url: str
) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    await client.post(f"{ROUTE}/sums", json={"url": guarded_url, "headers": headers})
    report = (await client.post(f"{ROUTE}/sums/test")).json()
    assert report["ok"] is True, report
    assert {"name": "add", "title": None, "description": "Adds two numbers."} in report["tools"]


async def test_a_server_that_cannot_be_used_says_why(client: httpx.AsyncClient, guarded_url: str) -> None:
    await client.post(f"{ROUTE}/gone", json={"url": f"http://127.0.0.1:{free_port()}/mcp"})
    await client.post(f"{ROUTE}/wrong", json={"url": guarded_url, "headers": {"Authorization": "Bearer no"}})
    await client.post(
        f"{ROUTE}/lost", json={"url": f"{guarded_url}/x", "headers": {"Authorization": f"Bearer {KEY}"}}
    )
    reports = {name: (await client.post(f"{ROUTE}/{name}/test")).json() for name in ("gone", "wrong", "lost")}
    assert {name: report["error_kind"] for name, report in reports.items()} == {
        "gone": "connection",
        "wrong": "refused",
        "lost": "unknown",
    }
    assert "401" in reports["wrong"]["error"]
    assert "404" in reports["lost"]["error"]
    assert all(report["fix"] and not report["ok"] for report in reports.values())
    assert KEY not in str(reports)
