"""Commands in a sandbox reach only allowed hosts. A refused host appears in the conversation and can be
allowed.
"""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import SANDBOX_KINDS
from tests.support.browser import visitor
from tests.support.outside import NEIGHBOUR
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    events,
    start_conversation,
    start_task,
    wait_until,
)

pytestmark = pytest.mark.timeout(600)


class Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_arguments: object) -> None:
        """Logs nothing."""


@pytest.fixture
def outside() -> Iterator[str]:
    """Yields host and port of a web site at a loopback address that programs treat as another machine."""
    with ThreadingHTTPServer((NEIGHBOUR, 0), Greeting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"{NEIGHBOUR}:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", SANDBOX_KINDS)
def test_commands_reach_what_is_allowed_and_are_told_what_is_not(
    kind: str, outside: str, tmp_path: Path
) -> None:
    if kind == "docker":
        sandbox_image()
    allowed = {"SLIPWAY_EGRESS_HOSTS": json.dumps([outside]), "SLIPWAY_EGRESS_PRIVATE": f'["{NEIGHBOUR}"]'}
    with (
        AppServerProcess(tmp_path / "home", sandbox=kind, environment=allowed) as server,
        server.client() as client,
    ):
        conversation_id = start_conversation(client, "Look around")

        def run(command: str) -> str:
            url = f"/app-conversations/{conversation_id}/execute-bash-command"
            done = client.post(url, json={"command": command}).raise_for_status().json()
            return f"{done['stdout'] or ''}{done['stderr'] or ''}"

        wait_until(
            lambda: start_task(client, conversation_id)["status"] in {"READY", "ERROR"},
            lambda: str(start_task(client, conversation_id)),
        )
        through = run(f"curl -sS http://{outside}/")
        refused = run("curl -sS http://elsewhere.test/")
        tunnel = run("curl -sSv https://elsewhere.test/ 2>&1")
        around = run("curl -sS --noproxy '*' --max-time 5 http://1.1.1.1/ 2>&1")
        environment = run("env")

    assert through == "hello"
    assert "elsewhere.test:80 is not on this conversation's list of allowed hosts" in refused
    assert "403 Slipway: elsewhere.test:443 is not on this conversation's list" in tunnel
    assert re.search(r"^https_proxy=http://127\.0\.0\.1:\d+$", environment, re.MULTILINE)
    if kind == "docker":
        assert "https_proxy=http://127.0.0.1:8021" in environment
        # The kernel either drops the packet or has no route for it.
        assert "curl: (28)" in around or "curl: (7)" in around


@pytest.mark.browser
def test_a_person_allows_a_host_that_was_refused_and_the_agent_gets_through(
    outside: str, tmp_path: Path, repository: Path, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.aside = say("A title")
    get_it = call("terminal", command=f"curl -sS http://{outside}/")
    scripted_llm.script(get_it, say("It was refused."), get_it, say("I got it."))
    private = {"SLIPWAY_EGRESS_PRIVATE": f'["{NEIGHBOUR}"]'}
    with (
        AppServerProcess(tmp_path / "home", sandbox="process", environment=private) as server,
        server.client() as client,
        visitor() as someone,
    ):
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        client.put("/settings/confirmation", json={"mode": "never"}).raise_for_status()
        someone.sign_in(server)
        page = someone.page
        conversation_id = start_conversation(client, "Get it", selected_repository=str(repository))
        page.goto(f"{server.url}/conversations/{conversation_id}")

        card = page.get_by_role("region", name=f"curl tried to reach {outside}")
        expect(card).to_be_visible()
        expect(page.get_by_text("It was refused.", exact=True)).to_be_visible()
        someone.check_layout("network-refused")
        card.get_by_role("button", name="Allow for this repository").click()
        expect(card).to_have_count(0)
        page.get_by_role("textbox", name="Message to the agent").fill("Try again")
        page.keyboard.press("Enter")
        expect(page.get_by_text("I got it.", exact=True)).to_be_visible()
        outputs = [one["observation"] for one in events(client, conversation_id) if "observation" in one]

        page.goto(f"{server.url}/settings/network")
        expect(page.get_by_text("This server cannot enforce it")).to_have_count(0)
        expect(page.get_by_text("1 further host")).to_be_visible()
        expect(page.get_by_text("Let through")).to_be_visible()
        someone.check_layout("network-settings")
        form = page.get_by_role("form", name="For all tasks")
        form.get_by_label("Agents may reach").select_option("Nothing")
        form.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
        mode = client.get("/settings/network").json()["mode"]
        assert someone.complaints == []

    assert ["hello" in str(output) for output in outputs] == [False, True]
    assert "not on this conversation's list of allowed hosts" in str(outputs[0])
    assert mode == "none"
