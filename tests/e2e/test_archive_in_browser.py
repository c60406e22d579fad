"""A sandbox is archived and restored while the page of its conversation is open: the page sends no request
that is refused. Then the conversation is forked.
"""

import pytest
from playwright.sync_api import Response, expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    conversation,
    start_conversation,
    wait_for_status,
    wait_until,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def test_the_page_asks_nothing_of_a_sandbox_that_is_archived(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    server = scripted_server
    scripted_llm.script(
        call("terminal", command="echo kept > file"), say("Noted."), say("Here it is."), say("Also here.")
    )
    refused: list[str] = []

    def note(response: Response) -> None:
        if response.status >= 400:
            refused.append(f"{response.status} {response.request.method} {response.url}")

    with server.client() as client, visitor() as someone:
        talk = start_conversation(client, "Take a note", title="The note")
        wait_for_status(client, talk, "finished")
        someone.sign_in(server)
        page = someone.page
        page.on("response", note)
        page.goto(f"{server.url}/conversations/{talk}")
        expect(page.get_by_text("Noted.")).to_be_visible()
        expect(page.get_by_text("file", exact=True).last).to_be_visible()

        client.post(f"/sandboxes/{talk}/archive").raise_for_status()
        expect(page.get_by_text("Sandbox archived").first).to_be_visible()
        page.get_by_role("tab", name="Preview").click()
        expect(page.get_by_text("The next message wakes it.").locator("visible=true")).to_be_visible()
        someone.check_layout("archived")
        page.get_by_role("button", name="More actions", exact=True).click()
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name="Download as Markdown").click()
        assert saved.value.suggested_filename == "the-note.md"
        assert "Noted." in saved.value.path().read_text()
        page.reload()
        expect(page.get_by_text("The sandbox is not running").locator("visible=true")).to_be_visible()

        box = page.get_by_role("textbox", name="Message to the agent")
        box.fill("Where is it?")
        box.press("Enter")
        expect(page.get_by_text("Here it is.")).to_be_visible()
        wait_until(
            lambda: conversation(client, talk)["sandbox_status"] == "RUNNING",
            lambda: str(conversation(client, talk)),
        )
        expect(page.get_by_text("file", exact=True).last).to_be_visible()

        page.get_by_role("button", name="More actions", exact=True).click()
        page.get_by_role("menuitem", name="Fork").click()
        dialog = page.get_by_role("dialog", name="Fork this conversation")
        expect(dialog.get_by_label("Title")).to_have_value("The note (fork)")
        someone.check_layout("fork-dialog")
        dialog.get_by_role("button", name="Fork").click()
        page.wait_for_url(lambda url: not url.endswith(talk))
        expect(page.get_by_text("Copied from another conversation")).to_be_visible()
        expect(page.get_by_text("Noted.")).to_be_visible()
        client.delete(f"/app-conversations/{talk}").raise_for_status()
        page.get_by_role("textbox", name="Message to the agent").fill("And here?")
        page.get_by_role("textbox", name="Message to the agent").press("Enter")
        expect(page.get_by_text("Also here.")).to_be_visible()
        expect(page.get_by_text("file", exact=True).last).to_be_visible()
        someone.check_layout("forked")

    assert refused == []
