"""Tests of the programs that run beside the agent server, such as VS Code. A small script plays VS Code,
which is only in the full image.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx
import pytest

from agent_runtime.wire import RELAY_KEY_HEADER
from tests.support.agent_app import agent_app, called, eventually
from tests.support.agent_server import KEY

STAND_IN = f"""#!{sys.executable}
import http.server, os, socketserver, sys
print("a word of it", flush=True)
if os.path.exists(os.path.join(os.path.dirname(__file__), "broken")):
    sys.exit("out of order")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
    def address_string(self): return "here"
with open(os.path.join(os.path.dirname(__file__), "started"), "a") as file:
    print(os.getpid(), file=file)
socketserver.UnixStreamServer(sys.argv[sys.argv.index("--socket") + 1], Handler).serve_forever()
"""
ASKED = {"base_url": "https://a/b/", "workspace_dir": "/w x"}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns an empty directory and makes it the only one on PATH."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


def install(programs: Path) -> None:
    (programs / "code-server").write_text(STAND_IN)
    (programs / "code-server").chmod(0o755)


def started(programs: Path) -> list[int]:
    file = programs / "started"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


async def start(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/api/runtime-plugins/vscode/start")


async def test_where_nothing_is_installed_each_says_why_and_what_helps(tmp_path: Path, programs: Path):
    async with agent_app(tmp_path) as client:
        found = (await called(client, "GET", "/api/runtime-plugins"))["items"]
        statuses = {one["name"]: one["status"] for one in found}
        assert statuses.pop("jupyter") == "ready"
        assert statuses == dict.fromkeys(("vscode", "desktop", "browser"), "unavailable")
        assert all(one["reason"] and one["fix"] for one in found if one["status"] == "unavailable")
        for path, code in (("vscode/url", "vscode_unavailable"), ("desktop/url", "desktop_unavailable")):
            refused = await client.get(f"/api/{path}")
            assert (refused.status_code, refused.json()["code"]) == (503, code)
        refused = await start(client)
        assert (refused.status_code, refused.json()["code"]) == (503, "vscode_unavailable")
        unknown = await client.post("/api/runtime-plugins/emacs/start")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "runtime_plugin_not_found")


async def test_vs_code_is_switched_off_by_the_configuration(tmp_path: Path, programs: Path):
    install(programs)
    async with agent_app(tmp_path, enable_vscode=False) as client:
        assert (await client.get("/api/vscode/url")).json()["code"] == "vscode_disabled"
        assert await called(client, "GET", "/api/vscode/status") == {"running": False, "enabled": False}


async def test_its_address_is_below_the_one_by_which_the_caller_reaches_its_port(
    tmp_path: Path, programs: Path
):
    install(programs)
    async with agent_app(tmp_path, vscode_base_path="/code/") as client:
        assert await called(client, "GET", "/api/vscode/status") == {"running": False, "enabled": True}
        found = await called(client, "GET", "/api/vscode/url", params=ASKED)
        assert found == {"url": "https://a/b/code/?folder=/w%20x"}
        assert await called(client, "GET", "/api/vscode/status") == {"running": True, "enabled": True}
        assert await called(client, "GET", "/api/vscode/url") == {"url": None}
        assert (await client.get("/api/vscode/url", params={"base_url": "javascript:x"})).status_code == 422


async def test_a_plugin_starts_once_and_again_after_it_has_ended(tmp_path: Path, programs: Path):
    install(programs)
    async with agent_app(tmp_path) as client:
        both = await asyncio.gather(start(client), start(client))
        assert [one.json()["status"] for one in both] == ["running", "running"]
        [first] = started(programs)
        os.kill(first, signal.SIGKILL)
        status = await called(client, "GET", "/api/vscode/status")
        assert status == {"running": False, "enabled": True}
        assert (await start(client)).json()["status"] == "running"
        _, second = started(programs)
    await eventually(lambda: not Path(f"/proc/{second}").exists())


async def test_a_plugin_that_does_not_start_shows_its_output(tmp_path: Path, programs: Path):
    install(programs)
    (programs / "broken").touch()
    async with agent_app(tmp_path) as client:
        failed = await start(client)
        assert (failed.status_code, failed.json()["code"]) == (503, "runtime_plugin_failed")
        assert "out of order" in failed.json()["output"]
        (programs / "broken").unlink()
        assert (await start(client)).json()["status"] == "running"


async def test_a_conversation_brings_what_it_needs_or_is_refused(tmp_path: Path, programs: Path):
    request = {
        "agent": {"kind": "Agent", "llm": {"model": "openai/x", "api_key": KEY}},
        "workspace": {"working_dir": str(tmp_path / "project")},
    }
    async with agent_app(tmp_path) as client:
        for names, status in ((["vscode"], 503), (["emacs"], 404)):
            refused = await client.post("/api/conversations", json={**request, "runtime_plugins": names})
            assert refused.status_code == status, refused.text
        assert await called(client, "GET", "/api/conversations/count") == 0
        install(programs)
        needed = {**request, "runtime_plugins": ["vscode", "jupyter"]}
        await called(client, "POST", "/api/conversations", json=needed)
        assert await called(client, "GET", "/api/vscode/status") == {"running": True, "enabled": True}


async def test_the_relay_of_ports_leads_to_it_while_it_runs(tmp_path: Path, programs: Path):
    install(programs)
    door, key = "/api/ports/8001/relay/", {RELAY_KEY_HEADER: KEY}
    async with agent_app(tmp_path) as client:
        refused = await client.get(door, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (502, "port_not_listening")
        await start(client)
        assert (await client.get(door, headers=key)).text == "ok"
        assert (await client.get(door)).status_code == 401
        os.kill(started(programs)[0], signal.SIGKILL)
        refused = await client.get(door, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (502, "port_failed")
