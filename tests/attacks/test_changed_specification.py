"""Even if a command can write the log of its conversation, it cannot change what the conversation may do."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    conversation,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = pytest.mark.processes

CHANGE = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
change = "UPDATE meta SET value = json_set(value, '$.request.confirmation_policy.kind', 'NeverConfirm')"
print(db.execute(change + " WHERE key = 'spec'").rowcount)
if sys.argv[2] == "and its signature":
    db.execute("DELETE FROM meta WHERE key = 'spec_seal'")
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AppServerProcess]:
    # Without isolation, commands have all rights of the agent server. Only the signature protects.
    environment = {"SLIPWAY_PROCESS_ISOLATION": "none"}
    with AppServerProcess(tmp_path / "home", sandbox="process", environment=environment) as server:
        yield server


@pytest.fixture
def client(server: AppServerProcess, scripted_llm: ScriptedLLM) -> Iterator[httpx.Client]:
    scripted_llm.aside = say("A title")
    with server.client() as client:
        add_model(client, scripted_llm.base_url, scripted_llm.api_key)
        yield client


@pytest.mark.parametrize("also", ["alone", "and its signature"])
def test_a_specification_that_a_command_has_changed_is_not_gone_on_with(
    also: str, server: AppServerProcess, client: httpx.Client, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(say("Hello."))
    changed = start_conversation(client, "Greet.", llm_profile="scripted", confirmation_mode="always")
    wait_for_status(client, changed, "finished")
    script = server.home / "sandboxes" / changed / "workspace" / "project" / "change.py"
    script.write_text(CHANGE)
    command = f"python3 change.py ../conversations/{changed}/log.sqlite {also!r}"

    assert run(client, changed, command)["stdout"].strip() == "1"
    end_agent_server(server, client, changed)
    scripted_llm.script(say("I am still here."))
    reply = client.post(f"/app-conversations/{changed}/send-message", json=message("Go on."))

    assert (reply.status_code, reply.json().get("code")) == (409, "spec_changed"), reply.text
    assert "Start a new conversation" in reply.json()["fix"]
    shown = client.get(f"/conversation/{changed}/events/search").raise_for_status().json()["items"]
    assert "Hello." in json.dumps(shown)


def run(client: httpx.Client, conversation_id: str, command: str) -> Json:
    url = f"/app-conversations/{conversation_id}/execute-bash-command"
    reply = client.post(url, json={"command": command, "timeout": 60}).raise_for_status()
    found: Json = reply.json()
    return found


def end_agent_server(server: AppServerProcess, client: httpx.Client, conversation_id: str) -> None:
    """Kills the agent server, as a command of the agent can do here. Returns when a new agent server runs."""
    record = server.home / "sandboxes" / conversation_id / "process.json"
    ended = json.loads(record.read_text())["pid"]
    os.kill(ended, signal.SIGKILL)

    def is_back() -> bool:
        is_another = json.loads(record.read_text())["pid"] != ended
        return is_another and conversation(client, conversation_id)["sandbox_status"] == "RUNNING"

    wait_until(is_back, server.output)


def message(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}], "run": True}
