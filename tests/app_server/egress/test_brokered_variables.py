"""Tests of variables of MCP servers whose values stay in the app server.

The sandbox gets a substitute for the value. The proxy replaces the substitute by the value only in calls
to the named hosts. No answer brings the value into the sandbox.
"""

import base64
import sys
from typing import Any

import httpx
import pytest

from app_server.mcp_servers.brokered_variables import definitions_for_sandboxes
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.egress.conftest import WayOut
from tests.support.outside import Site, says

pytestmark = pytest.mark.low_ports

HOST = "tracker.example.test"
TOKEN = "ghp_canaryvalue7f3a9c51"
ROUTE = "/api/v1/settings/mcp/tracker"

# A small program that sends its token as an MCP server does.
PROGRAM = """
import os, sys, urllib.request
call = urllib.request.Request(sys.argv[1], headers={sys.argv[2]: sys.argv[3] % os.environ["TRACKER_TOKEN"]})
print(urllib.request.urlopen(call, timeout=60).read().decode(), end="")
"""


@pytest.fixture
async def variables(app: App, client: httpx.AsyncClient, owner: User) -> dict[str, str]:
    """Saves an MCP server whose token is for one host. Returns the environment that this MCP server gets in
    a sandbox.
    """
    return await save(app, client, owner, [HOST])


async def save(app: App, client: httpx.AsyncClient, owner: User, hosts: list[str]) -> dict[str, str]:
    body = {"command": "tracker", "env": {"TRACKER_TOKEN": TOKEN}, "env_hosts": {"TRACKER_TOKEN": hosts}}
    reply = await client.post(ROUTE, json=body)
    assert reply.status_code == 201, reply.text
    return await environment(app, owner)


async def environment(app: App, owner: User) -> dict[str, str]:
    async with app.database.read() as session:
        found = await definitions_for_sandboxes(session, app.state["cipher"], owner.id)
    return dict(found["tracker"].env)


async def call(way_out: WayOut, variables: dict[str, str], url: str, header: str, value: str) -> str:
    """Calls the URL from a program in the sandbox, with the token in this header. Returns the body of the
    answer.

    value: the header's value; "%s" is replaced by the program's TRACKER_TOKEN.
    """
    code, said = await way_out.run_as_agents(sys.executable, "-c", PROGRAM, url, header, value, **variables)
    assert code == 0, said
    return said


def echoing(seen: list[Site], name: str) -> Any:
    def echo(_host: str, _path: str) -> tuple[int, dict[str, str], bytes]:
        sent = seen[0].headers[-1].get(name, "nothing")
        return 200, {"X-Echo": sent}, sent.encode()

    return echo


@pytest.mark.parametrize(
    ("header", "value", "sent"),
    [
        ("Authorization", "Bearer %s", f"Bearer {TOKEN}"),
        ("Authorization", "token %s", f"token {TOKEN}"),
        ("X-Api-Key", "%s", TOKEN),
    ],
)
async def test_the_named_host_gets_the_value_and_its_echo_is_hidden(
    way_out: WayOut, variables: dict[str, str], header: str, value: str, sent: str
) -> None:
    assert TOKEN not in str(variables)
    assert variables["TRACKER_TOKEN"].startswith("ghp_"), "programs check with which letters a token begins"
    seen: list[Site] = []
    async with way_out.site(HOST, echoing(seen, header.lower())) as site:
        seen.append(site)
        said = await call(way_out, variables, f"https://{HOST}/a", header, value)

    assert site.headers[-1][header.lower()] == sent
    assert TOKEN not in said
    assert "*" * len(TOKEN) in said


async def test_basic_credentials_are_decoded(way_out: WayOut, variables: dict[str, str]) -> None:
    async with way_out.site(HOST, says("hello")) as site:
        pair = f"me:{variables['TRACKER_TOKEN']}"
        code, said = await way_out.run_as_agents("curl", "-sS", "-u", pair, f"https://{HOST}/")

    assert (code, said) == (0, "hello")
    assert site.headers[-1]["authorization"] == f"Basic {base64.b64encode(f'me:{TOKEN}'.encode()).decode()}"


async def test_other_hosts_other_headers_addresses_and_bodies_keep_the_stand_in(
    way_out: WayOut, variables: dict[str, str]
) -> None:
    stand_in = variables["TRACKER_TOKEN"]
    async with (
        way_out.site(HOST, says("hello")) as site,
        way_out.site("other.allowed.test", says("other")) as other,
    ):
        await way_out.run("curl", "-sS", "-H", f"Authorization: {stand_in}", "https://other.allowed.test/")
        await way_out.run_as_agents(
            "curl", "-sS", "-A", stand_in, "-d", f"note={stand_in}", f"https://{HOST}/save?text={stand_in}"
        )

    assert other.headers[-1]["authorization"] == stand_in
    assert site.seen[-1] == ("POST", HOST, f"/save?text={stand_in}")
    assert TOKEN not in str(site.headers)


async def test_a_new_value_is_used_at_once_and_a_server_that_is_off_or_gone_brokers_nothing(
    app: App, way_out: WayOut, client: httpx.AsyncClient, owner: User, variables: dict[str, str]
) -> None:
    new = "ghp_another-value-41"
    arguments = (f"https://{HOST}/", "Authorization", "Bearer %s")
    async with way_out.site(HOST, says("hello")) as site:
        assert (await client.patch(ROUTE, json={"env": {"TRACKER_TOKEN": new}})).status_code == 200
        await call(way_out, variables, *arguments)
    assert site.headers[-1]["authorization"] == f"Bearer {new}"
    assert (await environment(app, owner))["TRACKER_TOKEN"] == variables["TRACKER_TOKEN"]

    assert (await client.patch(ROUTE, json={"enabled": False})).status_code == 200
    code, said = await way_out.run_as_agents("curl", "-sS", "-m", "60", f"https://{HOST}/")
    assert (code != 0, "403" in said) == (True, True), "without the server the host is not allowed either"


async def test_the_stand_in_of_a_deleted_server_opens_nothing(
    app: App, way_out: WayOut, client: httpx.AsyncClient, owner: User, variables: dict[str, str]
) -> None:
    assert (await client.delete(ROUTE)).status_code == 204
    mine = await save(app, client, owner, [HOST])
    assert mine != variables
    async with way_out.site(HOST, says("hello")) as site:
        await call(way_out, variables, f"https://{HOST}/", "Authorization", "Bearer %s")
    assert TOKEN not in str(site.headers)


async def test_a_git_host_takes_the_value_and_still_no_push(
    way_out: WayOut, client: httpx.AsyncClient, variables: dict[str, str]
) -> None:
    stand_in = variables["TRACKER_TOKEN"]
    token = {"host": f"https://{HOST}", "token": "token-of-the-user"}
    assert (await client.post("/api/v1/settings/git-credentials", json=token)).status_code == 201
    bearer = ("-H", f"Authorization: Bearer {stand_in}")
    async with way_out.site(HOST, says("hello")) as site:
        _, read = await way_out.run_as_agents("curl", "-sS", *bearer, f"https://{HOST}/user")
        _, foreign = await way_out.run_as_agents(
            "curl", "-sS", "-H", "Authorization: Bearer mine", f"https://{HOST}/user"
        )
        _, pushed = await way_out.run_as_agents(
            "curl", "-sS", *bearer, "-d", "0000", f"https://{HOST}/a/b.git/git-receive-pack"
        )

    assert read == "hello"
    assert site.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert len(site.headers) == 1, (foreign, pushed)
