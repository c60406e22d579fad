"""A user adds an MCP server in the settings in a real Chromium, and the agent uses it; its key is
not shown.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import SANDBOX_KINDS
from tests.support.browser import visitor
from tests.support.live_trees import files_with
from tests.support.mcp_processes import http_server
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, events, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

KEY = "canary-header-2ac9f10e"


@pytest.fixture
def guarded_url() -> Iterator[str]:
    with http_server("tests.support.mcp_server", "http", SLIPWAY_TEST_MCP_KEY=KEY) as url:
        yield url


def holders_in_container(client: httpx.Client, conversation: str) -> str:
    """Returns the files and process environments in the container that contain the key. Empty for process
    sandboxes.

    The key is split on the command line, so that the search does not find itself.
    """
    if client.get("/web-client/config").json()["sandbox"]["backend"] != "docker":
        return ""
    search = f"grep -rasl --exclude-dir=proc --exclude-dir=sys {KEY[:-4]}'{KEY[-4:]}' / /proc/[0-9]*/environ"
    reply = client.post(
        f"/app-conversations/{conversation}/execute-bash-command", json={"command": f"{search}; true"}
    ).raise_for_status()
    return str(reply.json()["stdout"] or "")


@pytest.mark.parametrize("server", SANDBOX_KINDS, indirect=True)
def test_a_server_is_added_tested_and_used_and_its_key_is_nowhere_to_be_seen(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, guarded_url: str
) -> None:
    scripted_llm.script(
        call("add", a=2, b=40), call("terminal", command="env; cat /proc/self/environ"), say("It is 42.")
    )
    with scripted_server.client() as client, visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/settings/mcp-servers")
        expect(page.get_by_text("No MCP servers")).to_be_visible()
        someone.check_layout("settings-mcp-servers-empty")
        page.get_by_role("button", name="Add a server", exact=True).click()
        page.get_by_label("Name", exact=True).fill("sums")
        page.get_by_label("URL").fill(guarded_url)
        page.get_by_role("button", name="Add a header").click()
        page.get_by_label("Name of header 1").fill("Authorization")
        page.get_by_label("Value of header 1").fill("Bearer wrong")
        someone.check_layout("settings-mcp-servers-form")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Test sums").click()
        expect(page.get_by_text("It refuses the sign-in (HTTP 401 Unauthorized).")).to_be_visible()
        someone.check_layout("settings-mcp-servers-refused")

        page.get_by_role("button", name="Actions for sums").click()
        page.get_by_role("menuitem", name="Edit").click()
        page.get_by_label("Value of header 1").fill(f"Bearer {KEY}")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.get_by_role("button", name="Test sums").click()
        expect(page.get_by_text("Adds two numbers.")).to_be_visible()
        someone.check_layout("settings-mcp-servers-tools")
        assert KEY not in page.content()

        conversation = start_conversation(client, "How much is 40 and 2?", confirmation_mode="never")
        wait_for_status(client, conversation, "finished")
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        expect(page.get_by_text("It is 42.").first).to_be_visible()
        page.get_by_role("button", name="add").first.click()
        expect(page.get_by_text("sum=42").first).to_be_visible()
        someone.check_layout("conversation-mcp-tool")
        log = str(events(client, conversation))
        assert "sum=42" in log
        assert KEY not in log + page.content() + scripted_server.output()
        assert holders_in_container(client, conversation) == ""
        assert someone.complaints == []
    assert files_with(scripted_server.home, KEY) == []


def test_a_server_is_connected_by_oauth_and_its_tokens_are_nowhere_to_be_seen(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    issued = tmp_path / "tokens"
    scripted_llm.script(
        call("whoami"), call("terminal", command="env; cat /proc/self/environ"), say("I am in.")
    )
    with (
        http_server("tests.support.mcp_oauth_server", SLIPWAY_TEST_TOKENS=str(issued)) as guarded_url,
        scripted_server.client() as client,
        visitor() as someone,
    ):
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/settings/mcp-servers")
        page.get_by_role("button", name="Add a server", exact=True).click()
        page.get_by_label("Name", exact=True).fill("club")
        page.get_by_label("URL").fill(guarded_url)
        page.get_by_label("Sign in with OAuth").check()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Not connected")).to_be_visible()
        someone.check_layout("settings-mcp-servers-sign-in")
        page.get_by_role("button", name="Connect club").click()
        # The browser went to the provider and back.
        expect(page.get_by_text("Connected", exact=True)).to_be_visible()
        expect(page).to_have_url(re.compile(r"/settings/mcp-servers$"))
        page.get_by_role("button", name="Test club").click()
        expect(page.get_by_text("Says that you are in.")).to_be_visible()
        someone.check_layout("settings-mcp-servers-connected")

        conversation = start_conversation(client, "Who am I?", confirmation_mode="never")
        wait_for_status(client, conversation, "finished")
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        expect(page.get_by_text("I am in.").first).to_be_visible()
        log = str(events(client, conversation))
        assert "you are in" in log
        everything = log + page.content() + scripted_server.output()
        everything += str([request.body for request in scripted_llm.requests])
        assert someone.complaints == []
    tokens = issued.read_text().split()
    assert len(tokens) >= 2
    assert files_with(scripted_server.home, *tokens) == []
    for token in tokens:
        assert token not in everything
