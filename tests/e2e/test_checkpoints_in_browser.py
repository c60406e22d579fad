"""A user goes back to a message in the browser: files and chat are restored, and the restore can be
undone.
"""

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, wait_for_status

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

AGENT_TIMEOUT_MS = 120_000


def say_to(page: Page, text: str) -> None:
    page.get_by_label("Message to the agent").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def ask_beside(page: Page, message: str) -> None:
    bubble = page.get_by_role("log").get_by_text(message, exact=True)
    bubble.hover()
    row = page.locator("[data-index]").filter(has=page.get_by_text(message, exact=True))
    row.get_by_role("button", name="Restore to here").click()


def test_files_and_chat_go_back_and_edits_stay(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(
        call("terminal", command="printf 'by the agent\\n' > one.txt"),
        say("The first is there."),
        call("terminal", command="printf 'once more\\n' >> one.txt; echo two > two.txt"),
        say("The second is there."),
    )
    with visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(scripted_server.url)
        page.get_by_label("Task").fill("Make the first.")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_text("The first is there.")).to_be_visible(timeout=AGENT_TIMEOUT_MS)
        say_to(page, "Make the second.")
        expect(page.get_by_text("The second is there.")).to_be_visible(timeout=AGENT_TIMEOUT_MS)
        conversation_id = page.url.rsplit("/", 1)[-1]
        with scripted_server.client() as client:
            # A file that is edited before the end of the run counts as edited by the agent.
            wait_for_status(client, conversation_id, "finished")
            edit = {"command": "echo mine > two.txt"}
            client.post(
                f"/app-conversations/{conversation_id}/execute-bash-command", json=edit
            ).raise_for_status()

        ask_beside(page, "Make the second.")
        dialog = page.get_by_role("dialog", name="Restore to here")
        expect(dialog.get_by_text("2 files have changed since.")).to_be_visible()
        expect(dialog.get_by_text("1 file was edited since, and not by this agent")).to_be_visible()
        restore = dialog.get_by_role("button", name="Restore", exact=True)
        expect(restore).to_be_disabled()
        dialog.get_by_role("button", name="one.txt", exact=False).first.click()
        expect(dialog.get_by_text("once more")).to_be_visible()
        someone.check_layout("restore")
        dialog.get_by_role("checkbox", name="Leave these files as they are").check()
        restore.click()
        expect(dialog).to_have_count(0)

        log = page.get_by_role("log")
        expect(log.get_by_text("Went back: chat and 1 file")).to_be_visible()
        expect(log.get_by_text("The second is there.")).to_have_count(0)
        expect(log.get_by_text("The first is there.")).to_be_visible()
        expect(page.get_by_label("Message to the agent")).to_have_value("Make the second.")
        with scripted_server.client() as client:
            look = client.post(
                f"/app-conversations/{conversation_id}/execute-bash-command",
                json={"command": "cat one.txt two.txt"},
            )
        assert look.json()["stdout"] == "by the agent\nmine\n"
        someone.check_layout("restored")

        log.get_by_role("button", name="Undo").click()
        dialog.get_by_role("button", name="Restore", exact=True).click()
        expect(log.get_by_text("The second is there.")).to_be_visible()

        page.get_by_role("button", name="Checkpoints", exact=True).click()
        listed = page.get_by_role("dialog", name="Checkpoints")
        expect(listed.get_by_text("Before the message “Make the second.”")).to_be_visible()
        someone.check_layout("checkpoints")
        assert someone.complaints == []
