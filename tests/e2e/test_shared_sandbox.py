"""Conversations share one sandbox, as chosen in the browser. Their files are separate, and they go on after
the app server was killed.
"""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import SANDBOX_KINDS
from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    conversation,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

GATE = "echo begun > gate; until [ -e go ]; do sleep 0.05; done; echo released"


def run(client: httpx.Client, conversation_id: str, command: str) -> str:
    url = f"/app-conversations/{conversation_id}/execute-bash-command"
    return str(client.post(url, json={"command": command}).raise_for_status().json()["stdout"] or "").strip()


def send(client: httpx.Client, conversation_id: str, text: str) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": text}], "run": True}
    client.post(f"/app-conversations/{conversation_id}/send-message", json=message).raise_for_status()


@pytest.mark.parametrize("server", SANDBOX_KINDS, indirect=True)
def test_conversations_share_a_sandbox_keep_apart_and_outlive_a_killed_app_server(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    server = scripted_server

    def begin(client: httpx.Client, note: str) -> str:
        scripted_llm.script(call("terminal", command=f"echo {note} > mine"), say(f"Wrote {note}."))
        started = start_conversation(client, task=f"Write {note}.", selected_repository=str(repository))
        wait_for_status(client, started, "finished")
        return started

    with server.client() as client, visitor() as someone:
        someone.sign_in(server)
        page = someone.page
        page.goto(f"{server.url}/settings/sandboxes")
        page.get_by_role("radio", name="Share the newest sandbox").click()
        expect(page.get_by_role("radio", name="Share the newest sandbox")).to_be_checked()
        someone.check_layout("sandbox-grouping")

        first = begin(client, "one")
        second = begin(client, "two")
        sandbox = conversation(client, first)["sandbox_id"]
        assert conversation(client, second)["sandbox_id"] == sandbox
        assert [run(client, each, "cat mine") for each in (first, second)] == ["one", "two"]

        scripted_llm.script(call("terminal", command=GATE), say("Through the gate."))
        send(client, second, "Wait at the gate.")
        wait_until(lambda: run(client, second, "ls gate 2>/dev/null") != "", lambda: "the agent at its gate")
        server.kill()
        server.start()
        wait_until(
            lambda: conversation(client, second)["sandbox_status"] == "RUNNING",
            lambda: "the sandbox to be adopted",
        )
        run(client, second, "touch go")
        wait_for_status(client, second, "finished")
        scripted_llm.script(say("Still here."))
        send(client, first, "And you?")
        wait_until(lambda: "Still here." in str(events(client, first)), lambda: "the other one's answer")
        for each, foreign in ((first, "Through the gate."), (second, "Still here.")):
            log = events(client, each)
            assert len({event["id"] for event in log}) == len(log)
            assert foreign not in str(log)

        page.goto(f"{server.url}/conversations/{second}")
        expect(page.get_by_text("Through the gate.").first).to_be_visible()
        expect(page.get_by_text("Shared with 1")).to_be_visible()
        someone.check_layout("shared-sandbox")

        page.get_by_role("button", name="The sandbox is shared with 1 other conversation").click()
        page.get_by_role("link", name="New conversation here").click()
        expect(page.get_by_text("The new conversation gets its own directory there.")).to_be_visible()
        someone.check_layout("begin-beside")
        scripted_llm.script(say("The third one."))
        page.get_by_label("Task").fill("Come along.")
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_text("The third one.").first).to_be_visible()
        expect(page.get_by_text("Shared with 2")).to_be_visible()

        client.delete(f"/app-conversations/{second}").raise_for_status()
        wait_until(
            lambda: not client.get("/app-conversations", params={"ids": second}).json()[0],
            lambda: "the second one to go",
        )
        assert run(client, first, "cat mine") == "one"
        assert conversation(client, first)["sandbox_status"] == "RUNNING"
