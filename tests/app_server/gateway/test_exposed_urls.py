"""Tests of the links that a sandbox lists: to the agent server, to VS Code and to two ports for programs."""

import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
import websockets

from app_server.main import WithState
from app_server.sandboxes.service import RunningSandbox
from tests.app_server.conftest import App, http_client
from tests.app_server.gateway.conftest import link, run, until_listening
from tests.app_server.problems import assert_problem
from tests.support.apps import public_app

KEY = "X-Session-API-Key"
NAMES = {"AGENT_SERVER": 8000, "VSCODE": 8001, "WORKER_1": 8011, "WORKER_2": 8012}


@pytest.fixture
async def at_path(app: App, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Yields an HTTP client of the owner at an app server where ports have no separate host names, so links
    have a path.
    """
    config = app.config.model_copy(update={"preview_domain": "", "allowed_hosts": ["slipway.lan"]})
    public = WithState(public_app(config), {**app.state, "config": config})
    async with http_client(public, headers={**client.headers, "Host": "slipway.lan"}) as owner:
        yield owner


async def exposed(client: httpx.AsyncClient, sandbox: RunningSandbox) -> dict[str, str]:
    reply = await client.get("/api/v1/sandboxes", params={"id": str(sandbox.id)})
    (info,) = reply.raise_for_status().json()
    assert {(one["name"], one["port"]) for one in info["exposed_urls"]} <= NAMES.items()
    return {one["name"]: one["url"] for one in info["exposed_urls"]}


async def key_for(client: httpx.AsyncClient, sandbox: RunningSandbox) -> dict[str, str]:
    """Returns the request header with the key that opens the sandbox's agent server for programs."""
    (info,) = (await client.get("/api/v1/sandboxes", params={"id": str(sandbox.id)})).json()
    assert info["session_api_key"] != sandbox.client.session_key
    return {KEY: info["session_api_key"]}


async def test_a_program_calls_the_agent_server_by_its_link(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    base = (await exposed(client, sandbox))["AGENT_SERVER"]
    assert sandbox.client.session_key not in base
    searched = (await client.get("/api/v1/sandboxes/search")).json()["items"]
    assert [one["name"] for one in searched[0]["exposed_urls"]] == list(NAMES)
    key = await key_for(client, sandbox)
    assert (await anonymous.get(f"{base}/health")).json() == {"status": "ok"}
    unknown = await anonymous.get(f"{base[:-32]}{uuid4().hex}/health")
    assert_problem(unknown, 410, "link_expired")
    assert_problem(await anonymous.get(f"{base}/server_info"), 401, "session_key_missing")
    for wrong in ("none", sandbox.client.session_key):
        refused = await anonymous.get(f"{base}/alive", headers={KEY: wrong})
        assert_problem(refused, 401, "session_key_invalid")
    assert (await anonymous.get(f"{base}/alive", headers=key)).is_success
    command = {"command": "echo $((6 * 7))", "cwd": sandbox.working_root}
    ours = client.headers["Authorization"].removeprefix("Bearer ")
    for headers in (key, {**key, "Authorization": f"Bearer {ours}"}):
        reply = await anonymous.post(f"{base}/api/bash/execute_bash_command", json=command, headers=headers)
        assert reply.json()["stdout"].strip() == "42", reply.text
    listed = await anonymous.get(f"{base}/api/conversations/search", headers=key)
    assert listed.json()["items"] == []
    assert sandbox.client.session_key not in listed.text


async def test_what_the_app_server_keeps_a_record_of_is_not_done_behind_it(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    base = (await exposed(client, sandbox))["AGENT_SERVER"]
    key = await key_for(client, sandbox)
    one = f"/api/conversations/{sandbox.id}"
    for method, path in (
        ("POST", "/api/conversations"),
        ("DELETE", one),
        ("POST", f"{one}/fork"),
        ("POST", f"{one}/secrets"),
        ("POST", f"{one}/consent"),
        ("POST", f"{one}/switch_llm"),
        ("POST", "/api/session_key"),
        ("POST", "/api/init"),
        ("GET", "/api/settings"),
        ("GET", "/api/ports/8000/relay/alive"),
        ("GET", "/api/file/../settings"),
        ("GET", "/api/conversations/..%2Fsettings"),
    ):
        reply = await anonymous.request(method, base + path, headers=key)
        assert_problem(reply, 403, "not_by_link")
    other = f"{base[:-32]}{uuid4().hex}"
    assert_problem(await anonymous.get(f"{other}/alive", headers=key), 401, "session_key_invalid")


async def test_a_link_ends_with_the_key_that_listed_it(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    made = (await client.post("/api/v1/api-keys", json={"name": "for a script"})).raise_for_status().json()
    with_key = {"Authorization": f"Bearer {made['key']}"}
    reply = await anonymous.get("/api/v1/sandboxes", params={"id": str(sandbox.id)}, headers=with_key)
    (info,) = reply.json()
    alive, key = f"{info['exposed_urls'][0]['url']}/alive", {KEY: info["session_api_key"]}
    assert (await anonymous.get(alive, headers=key)).is_success
    (await client.delete(f"/api/v1/api-keys/{made['id']}")).raise_for_status()
    assert_problem(await anonymous.get(alive, headers=key), 401, "session_key_invalid")


async def test_its_socket_is_open_to_the_link_alone(
    address: str, client: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    base = (await exposed(client, sandbox))["AGENT_SERVER"]
    key = (await key_for(client, sandbox))[KEY]
    url = f"{address.replace('http', 'ws')}{urlsplit(base).path}/sockets/bash-events?session_api_key="
    with pytest.raises(websockets.InvalidStatus):
        await websockets.connect(f"{url}none")
    async with websockets.connect(url + key) as socket:
        await sandbox.client.execute_command("echo seen", cwd=sandbox.working_root)
        while "seen" not in json.dumps(json.loads(await socket.recv())):
            continue


@pytest.mark.parametrize(("form", "worker"), [("name", "WORKER_1"), ("path", "WORKER_2")])
async def test_workers_are_reached_in_both_forms(
    form: str,
    worker: str,
    client: httpx.AsyncClient,
    at_path: httpx.AsyncClient,
    anonymous: httpx.AsyncClient,
    sandbox: RunningSandbox,
) -> None:
    owner, stranger = (client, anonymous) if form == "name" else (at_path, at_path)
    urls = await exposed(owner, sandbox)
    await run(sandbox, "mkdir -p site; echo hello > site/index.html")
    port = NAMES[worker]
    await run(sandbox, f"(cd site; python3 -m http.server --bind 127.0.0.1 {port} >/dev/null 2>&1 &)")
    await until_listening(sandbox, port)
    if form == "name":
        opened = await stranger.get(urls[worker])
        cookie = opened.headers["set-cookie"].partition(";")[0]
        here = {"Host": urlsplit(urls[worker]).netloc, "Cookie": cookie}
        assert (await stranger.get("/", headers=here)).text.strip() == "hello"
    else:
        assert (await stranger.get(urls[worker])).text.strip() == "hello"
        key = await key_for(owner, sandbox)
        assert (await stranger.get(f"{urls['AGENT_SERVER']}/alive", headers=key)).is_success
    assert await link(client, sandbox.id, name="AGENT_SERVER")
    body = {"name": "AGENT_SERVER", "path": "/alive"}
    refused = await client.post(f"/api/v1/sandboxes/{sandbox.id}/links", json=body)
    assert_problem(refused, 422, "validation_failed")


async def test_a_link_to_a_missing_vs_code_says_how_to_install_it(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    url = (await exposed(client, sandbox))["VSCODE"]
    cookie = (await anonymous.get(url)).headers["set-cookie"].partition(";")[0]
    there = {"Host": urlsplit(url).netloc, "Cookie": cookie}
    assert_problem(await anonymous.get("/", headers=there), 503, "vscode_unavailable")


async def test_below_a_path_vs_code_is_refused_before_it_starts(
    client: httpx.AsyncClient, at_path: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    assert set(await exposed(client, sandbox)) == set(NAMES)
    assert set(await exposed(at_path, sandbox)) == set(NAMES) - {"VSCODE"}
    links = f"/api/v1/sandboxes/{sandbox.id}/links"
    refused = await at_path.post(links, json={"name": "VSCODE"})
    assert_problem(refused, 409, "host_name_needed")
    assert "SLIPWAY_PREVIEW_DOMAIN" in refused.json()["fix"]
    assert (await at_path.post(links, json={"name": "DESKTOP"})).status_code == 201
    by_port = await at_path.get(await link(at_path, sandbox.id, port=NAMES["VSCODE"]))
    assert_problem(by_port, 409, "host_name_needed")


async def test_a_program_on_the_port_of_vs_code_is_shown_below_a_path(
    at_path: httpx.AsyncClient, sandbox: RunningSandbox
) -> None:
    port = NAMES["VSCODE"]
    await run(sandbox, "mkdir -p site; echo hello > site/index.html")
    await run(sandbox, f"(cd site; python3 -m http.server --bind 127.0.0.1 {port} >/dev/null 2>&1 &)")
    await until_listening(sandbox, port)
    assert (await at_path.get(await link(at_path, sandbox.id, port=port))).text.strip() == "hello"
