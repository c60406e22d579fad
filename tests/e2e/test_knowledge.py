"""A user sees in a real Chromium which instructions, skills and notes the agent knows, and edits them."""

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import Visitor, visitor
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

RELEASE = "---\nname: release\ninputs: [{name: version, description: What is released}]\n---\nTag ${version}."
NOTE = {
    "command": "create",
    "name": "running-the-tests",
    "title": "Tests run with the standard library alone: python -m unittest",
    "text": "Run `python -m unittest` in the root.\n\nThere is no pytest configuration, and none is wanted.",
}


def test_skills_are_explained_and_called_and_notes_are_edited(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    files = {
        "AGENTS.md": "Use tabs.",
        "CLAUDE.md": "Use tabs.",
        "voyage/AGENTS.md": "Whole minutes here.",
        ".agents/skills/release.md": RELEASE,
        ".agents/skills/broken.md": "---\ntriggers: [\n---\nx",
    }
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    for command in (["add", "-A"], [*identity, "commit", "-qm", "Instruct"]):
        subprocess.run(["git", *command], cwd=repository, check=True, timeout=PATIENCE_SECONDS)
    scripted_llm.script(call("memory_write", **NOTE), say("Noted."), say("Released."))
    with scripted_server.client() as client:
        conversation_id = start_conversation(client, task="Look around.", selected_repository=str(repository))
        wait_for_status(client, conversation_id, "finished")

    with visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation_id}")

        page.get_by_role("button", name="What the agent knows").click()
        repository_files = page.get_by_role("region", name="From the repository")
        expect(repository_files.get_by_text("has the same text")).to_be_visible()
        expect(
            repository_files.get_by_text("added to the first result that touches voyage/**", exact=False)
        ).to_be_visible()
        someone.check_layout("knowledge")
        page.get_by_role("button", name="Close").click()

        page.get_by_role("textbox", name="Message to the agent").press_sequentially("/r")
        expect(page.get_by_role("option", name="/release <version>")).to_be_visible()
        someone.check_layout("commands")
        page.keyboard.press("Enter")
        page.keyboard.type("1.4")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Released.").first).to_be_visible()
        assert "Tag 1.4." in scripted_llm.requests[-1].last_text

        page.goto(f"{scripted_server.url}/settings/memory")
        proposed = page.get_by_role("region", name="Proposed by agents")
        expect(proposed.get_by_text("There is no pytest configuration, and none is wanted.")).to_be_visible()
        someone.check_layout("memory-proposal")
        proposed.get_by_role("button", name=f"Accept the note {NOTE['title']}").click()
        expect(proposed).to_have_count(0)
        expect(page.get_by_text(NOTE["title"])).to_be_visible()
        someone.check_layout("memory")
        page.get_by_role("button", name=f"Open the note {NOTE['title']}").click()
        expect(page.get_by_role("textbox", name="Text")).to_have_value(NOTE["text"])
        someone.check_layout("memory-note")
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name=f"Delete the note {NOTE['title']}").click()
        page.get_by_role("button", name="Delete note").click()
        expect(page.get_by_text("No notes yet")).to_be_visible()

        install_and_remove_a_skill(someone, scripted_server, repository)
        assert someone.complaints == []


def install_and_remove_a_skill(someone: Visitor, server: AppServerProcess, repository: Path) -> None:
    page = someone.page
    page.goto(f"{server.url}/settings/skills")
    page.get_by_role("searchbox", name="Search the catalogue").fill("reviews")
    page.get_by_role("button", name="Install code-review from Slipway", exact=True).click()
    known = page.get_by_role("region", name="Skills of new conversations")
    expect(known.get_by_text("Loaded", exact=True)).to_be_visible()
    page.get_by_role("textbox", name="In a repository").fill(str(repository))
    page.get_by_role("button", name="Switch off code-review").click()
    expect(known.get_by_text(f"You have switched it off in {repository}.")).to_be_visible()
    page.get_by_role("button", name="Switch on code-review").click()
    expect(known.get_by_text("Loaded", exact=True)).to_be_visible()
    page.get_by_role("searchbox", name="Search the catalogue").fill("")
    someone.check_layout("skills")
    page.get_by_role("button", name="Show the text of code-review").click()
    expect(page.get_by_text("Review only. Change no file unless the user asks for it.")).to_be_visible()
    someone.check_layout("skill-text")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove code-review").click()
    page.get_by_role("button", name="Remove", exact=True).last.click()
    expect(page.get_by_text("No skills yet")).to_be_visible()
