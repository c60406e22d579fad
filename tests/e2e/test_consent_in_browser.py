"""A user is asked in a real Chromium about what a repository wants to run, and allows or refuses it."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.hostile_repository import MARKS, HostileRepository, marking
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def ran(client: httpx.Client, conversation_id: str) -> set[str]:
    body = {"command": f"ls {MARKS} 2>/dev/null || true"}
    reply = client.post(f"/app-conversations/{conversation_id}/execute-bash-command", json=body)
    return set((reply.raise_for_status().json()["stdout"] or "").split())


def bring_unclear_sub_agent(hostile: HostileRepository) -> None:
    """Adds a sub-agent with an invalid field `hooks` to the plugin of the repository, and commits."""
    file = hostile.path / ".agents/plugins/evil/agents/unclear.md"
    file.parent.mkdir()
    file.write_text("---\nhooks:\n  Stop: often\n---\nYou work.\n")
    hostile.commit()


def test_a_person_looks_allows_is_asked_again_after_an_edit_and_takes_it_back(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    hostile = HostileRepository(tmp_path / "hostile", serves=False)
    bring_unclear_sub_agent(hostile)
    scripted_llm.fallback = lambda _: say("Done.")
    edit = f"echo '{marking('smuggled')}' >> tools/install.sh"
    with scripted_server.client() as client:
        conversation_id = start_conversation(client, task="Look.", selected_repository=str(hostile.path))
        wait_for_status(client, conversation_id, "finished")
        assert ran(client, conversation_id) == set()

    with scripted_server.client() as client, visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation_id}")

        expect(page.get_by_text("wants to run 5 scripts")).to_be_visible()
        someone.check_layout("consent-banner")
        page.get_by_role("button", name="Look at it").click()
        script = page.get_by_role("article", name=re.compile("^Set-up script"))
        expect(script.get_by_text(marking("setup_script"))).to_be_visible()
        someone.check_layout("consent")
        script.get_by_role("button", name="Allow Set-up script").click()
        expect(page.get_by_text("The set-up script has run")).to_be_visible()
        expect(page.get_by_role("dialog").get_by_text("installed", exact=True)).to_be_visible()
        assert ran(client, conversation_id) == {"setup_script"}
        plugin = page.get_by_role("article", name=re.compile("^Plugin evil"))
        expect(plugin.get_by_text("agents/unclear: its hooks are not used")).to_be_visible()
        plugin.get_by_text("Parts of it are not used").scroll_into_view_if_needed()
        someone.check_layout("consent-left-out")
        plugin.get_by_role("button", name="Refuse Plugin evil").click()
        expect(plugin.get_by_text("Refused")).to_be_visible()
        someone.check_layout("consent-answered")
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_text("wants to run 3 scripts")).to_be_visible()

        scripted_llm.script(call("terminal", command=edit), say("Edited."))
        page.get_by_role("textbox", name="Message to the agent").fill("Edit it.")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Edited.").first).to_be_visible()
        expect(page.get_by_text("wants to run 4 scripts")).to_be_visible()
        page.get_by_role("button", name="Look at it").click()
        expect(script.get_by_text("Changed since you allowed it")).to_be_visible()
        expect(script.get_by_text(f"+{marking('smuggled')}")).to_be_visible()
        someone.check_layout("consent-changed")
        assert ran(client, conversation_id) == {"setup_script"}

        page.goto(f"{scripted_server.url}/settings/consents")
        expect(page.get_by_role("region", name=str(hostile.path))).to_be_visible()
        someone.check_layout("consents")
        page.get_by_role("button", name=re.compile("^Withdraw the decision about Set-up script")).click()
        page.get_by_role("button", name=re.compile("^Withdraw the decision about Plugin evil")).click()
        expect(page.get_by_text("Nothing allowed yet")).to_be_visible()
        assert someone.complaints == []


def test_a_set_up_script_that_failed_is_run_again(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    hostile = HostileRepository(tmp_path / "hostile", serves=False)
    setup = hostile.path / ".openhands" / "setup.sh"
    setup.write_text("echo looking for a key\ntest -e .git/key || exit 7\necho found\n")
    hostile.commit()
    scripted_llm.fallback = lambda _: say("Done.")
    with scripted_server.client() as client, visitor() as someone:
        conversation_id = start_conversation(client, task="Look.", selected_repository=str(hostile.path))
        wait_for_status(client, conversation_id, "finished")
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation_id}")
        page.get_by_role("button", name="Look at it").click()
        page.get_by_role("button", name="Allow Set-up script").click()
        expect(page.get_by_text("The set-up script failed")).to_be_visible()
        expect(page.get_by_role("dialog").get_by_text("failed with exit code 7")).to_be_visible()
        someone.check_layout("setup-failed")

        body = {"command": "touch .git/key"}
        client.post(
            f"/app-conversations/{conversation_id}/execute-bash-command", json=body
        ).raise_for_status()
        page.get_by_role("button", name="Run again").click()
        expect(page.get_by_text("The set-up script has run")).to_be_visible()
        expect(page.get_by_role("dialog").get_by_text("looking for a key\nfound")).to_be_visible()
        assert someone.complaints == []
