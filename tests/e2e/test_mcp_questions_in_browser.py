"""An MCP server asks the user a question during a tool call, and the user answers it in a form in the
browser.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import mcp_asking_server
from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, events, start_conversation

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def repository_with_server(path: Path) -> Path:
    path.mkdir()
    shutil.copy(mcp_asking_server.__file__, path / "harbour.py")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-qm", "Work"]):
        subprocess.run(["git", *arguments], cwd=path, check=True, capture_output=True)
    return path


def test_a_person_fills_in_a_form_that_comes_with_its_defaults(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    path = repository_with_server(tmp_path / "harbour")
    scripted_llm.script(call("book", harbour="Oslo"), say("It is booked."))
    server = {"command": sys.executable, "args": ["harbour.py", mcp_asking_server.OLDER]}
    with scripted_server.client() as client, visitor() as someone:
        client.put("/settings/confirmation", json={"mode": "never"}).raise_for_status()
        client.post("/settings/mcp/harbour", json=server).raise_for_status()
        conversation_id = start_conversation(client, task="Book.", selected_repository=str(path))
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation_id}")
        form = page.get_by_role("form", name="The MCP server harbour asks you")
        expect(form).to_contain_text("Which ship comes to Oslo?")
        page.reload()
        expect(form.get_by_label("Length")).to_have_value("12")
        expect(form.get_by_label("Shore power")).to_be_checked()
        form.get_by_label("Name of the ship").fill("F")
        form.get_by_role("button", name="Send the answer").click()
        expect(form).to_contain_text('The field name must satisfy {"minLength":2}.')
        someone.check_layout("mcp-question")
        form.get_by_label("Name of the ship").fill("Fram")
        form.get_by_label("side").select_option("starboard")
        form.get_by_role("button", name="Send the answer").click()
        expect(page.get_by_text("It is booked.", exact=True)).to_be_visible()
        expect(form).to_have_count(0)
        [said] = [one for one in events(client, conversation_id) if one["kind"] == "ObservationEvent"]
        content = {"name": "Fram", "metres": 12, "power": True, "side": "starboard"}
        answer = {"action": "accept", "content": content}
        assert json.loads(said["observation"]["content"][-1]["text"]) == answer
