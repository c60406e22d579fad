"""An agent asks the user before it acts: the user approves and refuses its steps in a real Chromium."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, calls, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser


def question(page: Page) -> Locator:
    return page.get_by_role("region", name="Approval needed")


def test_a_step_is_approved_and_another_refused_with_a_reason(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(
        calls(
            ("terminal", {"command": "echo approved-$((40 + 2))", "summary": "Say what was approved"}),
            ("terminal", {"command": "git push --force origin main", "summary": "Publish the change"}),
        ),
        call("terminal", command="sudo rm -rf /var/lib/app", summary="Remove the old data"),
        say("Then I leave it as it is."),
    )
    with scripted_server.client() as client, visitor() as someone:
        conversation = start_conversation(client, "Ship it.", confirmation_mode="risky")
        wait_for_status(client, conversation, "waiting_for_confirmation")
        someone.sign_in(scripted_server)
        page = someone.page
        expect(page.get_by_label("Needs approval").first).to_be_visible()
        page.goto(f"{scripted_server.url}/conversations/{conversation}")

        expect(question(page)).to_be_visible()
        expect(question(page).get_by_text("overwrites or deletes what others may have")).to_be_visible()
        someone.check_layout("asking-first")
        question(page).get_by_role("button", name="Allow all 2 steps").click()

        expect(question(page).get_by_text("sudo rm -rf /var/lib/app")).to_be_visible()
        expect(page.get_by_text("approved-42").first).to_be_visible()
        question(page).get_by_role("button", name="Reject").press("Enter")
        page.get_by_label("Reason for the agent").fill("Keep the data.")
        someone.check_layout("asking-first-reason")
        page.get_by_label("Reason for the agent").press("Enter")

        expect(page.get_by_text("Then I leave it as it is.").first).to_be_visible()
        expect(page.get_by_text("Keep the data.").first).to_be_visible()
        expect(question(page)).not_to_be_visible()
        assert "Keep the data." in str(scripted_llm.requests[-1].messages)
        assert someone.complaints == []


def test_each_step_is_answered_by_itself_with_the_keyboard(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(
        calls(
            ("terminal", {"command": "echo kept-$((40 + 2))", "summary": "Say what was kept"}),
            ("terminal", {"command": "git push --force origin main", "summary": "Publish the change"}),
        ),
        say("Only the first one, then."),
    )
    with scripted_server.client() as client, visitor() as someone:
        conversation = start_conversation(client, "Ship it.", confirmation_mode="always")
        wait_for_status(client, conversation, "waiting_for_confirmation")
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        first = question(page).get_by_role("radiogroup", name="Answer to: Say what was kept")
        second = question(page).get_by_role("radiogroup", name="Answer to: Publish the change")
        expect(second).to_be_visible()
        someone.check_layout("asking-steps")

        first.get_by_role("radio", name="Allow").press("Space")
        expect(first.get_by_role("radio", name="Allow")).to_be_checked()
        expect(question(page).get_by_role("button", name="Send answers")).to_be_disabled()
        outline = "element => getComputedStyle(element).outlineStyle"
        assert first.get_by_role("radio", name="Allow").evaluate(outline) != "none"
        second.get_by_role("radio", name="Allow").focus()
        # The key is held down, as by a finger: the radio button is chosen a moment after the key goes down.
        page.keyboard.down("ArrowRight")
        expect(second.get_by_role("radio", name="Reject")).to_be_checked()
        page.keyboard.up("ArrowRight")
        someone.check_layout("asking-steps-answered")
        page.get_by_label("Reason for the agent").fill("Not on a Friday.")
        page.get_by_label("Reason for the agent").press("Enter")

        expect(page.get_by_text("Only the first one, then.").first).to_be_visible()
        expect(page.get_by_text("kept-42").first).to_be_visible()
        assert "Not on a Friday." in str(scripted_llm.requests[-1].messages)
        assert someone.complaints == []


def test_the_mode_is_chosen_in_the_settings_and_for_a_task(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("terminal", command="echo harmless"), say("Done."))
    with visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        someone.check_layout("new-task-confirmation")
        page.goto(f"{scripted_server.url}/settings/confirmation")
        page.get_by_label("Run freely in the sandbox", exact=True).click()
        expect(page.get_by_label("Run freely in the sandbox", exact=True)).to_be_checked()
        someone.check_layout("settings-confirmation")

        page.goto(scripted_server.url)
        page.get_by_label("Before the agent acts").select_option("Ask every time")
        page.get_by_label("Task", exact=True).fill("Say something.")
        page.get_by_role("button", name="Start").click()
        expect(question(page).get_by_text("echo harmless", exact=True)).to_be_visible()
        question(page).get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_text("Done.").first).to_be_visible()


def test_the_mode_is_changed_in_a_conversation_that_is_under_way(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("terminal", command="echo one"), say("The first."))
    with scripted_server.client() as client, visitor() as someone:
        conversation = start_conversation(client, "Go.", confirmation_mode="never")
        wait_for_status(client, conversation, "finished")
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation}")

        page.get_by_role("button", name="Before the agent acts: Run freely in the sandbox").press("Enter")
        expect(page.get_by_role("menuitemradio", name="Run freely in the sandbox")).to_be_checked()
        someone.check_layout("asking-menu")
        page.get_by_role("menuitemradio", name="Ask every time").press("Enter")
        expect(page.get_by_role("button", name="Before the agent acts: Ask every time")).to_be_visible()
        someone.check_layout("asking-changed")

        scripted_llm.script(call("terminal", command="echo two"), say("The second."))
        page.get_by_role("textbox", name="Message to the agent").fill("Again.")
        page.keyboard.press("Enter")
        expect(question(page).get_by_text("echo two", exact=True)).to_be_visible()
        question(page).get_by_role("button", name="Approve", exact=True).click()
        expect(page.get_by_text("The second.").first).to_be_visible()
        assert someone.complaints == []
