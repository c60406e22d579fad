"""The owner shares a conversation with another user, who reads it, then steers it, then loses access.

A link shows the conversation to readers without an account.
"""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.browser import DESKTOP, Visitor, visitor
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser


def test_a_person_reads_then_steers_then_loses_a_conversation_of_another(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    server = scripted_server
    scripted_llm.script(say("The first answer. The key is AKIAIOSFODNN7EXAMPLE."), say("An answer to Ada."))
    with server.client() as client, visitor() as owner:
        invited = client.post("/people", json={"name": "Ada Lovelace", "role": "member"}).json()
        conversation_id = start_conversation(client, "Begin", title="The shared one")
        wait_for_status(client, conversation_id, "finished")
        place = {"selected_repository": "https://git.harbour.dev/team/crane", "selected_branch": "repairs"}
        client.patch(f"/app-conversations/{conversation_id}", json=place).raise_for_status()
        address = f"{server.url}/conversations/{conversation_id}"
        browser = owner.page.context.browser
        assert browser is not None
        ada = Visitor(browser.new_context(viewport=DESKTOP))
        ada.page.goto(invited["sign_in_link"]["url"])
        ada.page.get_by_role("button", name="Not now").click()

        owner.sign_in(server)
        owner.page.goto(address)
        owner.page.get_by_role("button", name="Share", exact=True).click()
        dialog = owner.page.get_by_role("dialog", name="Share this conversation")
        dialog.get_by_label("Add a person").fill("love")
        dialog.get_by_role("button", name="Add Ada Lovelace").click()
        access = dialog.get_by_label("Access of Ada Lovelace")
        expect(access).to_have_value("view")
        owner.check_layout("share-dialog")

        ada.page.goto(f"{server.url}/conversations")
        ada.page.get_by_role("radio", name="Shared with me").click()
        expect(ada.page.get_by_text("Shared by Owner")).to_be_visible()
        ada.check_layout("shared-list")
        filter_the_list(ada)
        ada.page.get_by_role("link", name="The shared one").first.click()
        expect(ada.page.get_by_text("The first answer.")).to_be_visible()
        expect(ada.page.get_by_text("Owner shares this conversation with you to read.")).to_be_visible()
        expect(ada.page.get_by_role("textbox", name="Message to the agent")).to_have_count(0)
        ada.check_layout("shared-to-read")
        find_in_the_conversation(ada)

        access.select_option("steer")
        expect(access).to_have_value("steer")
        dialog.get_by_role("button", name="Done").click()
        ada.page.reload()
        box = ada.page.get_by_role("textbox", name="Message to the agent")
        box.fill("A question of Ada's")
        box.press("Enter")
        for each in (ada, owner):
            expect(each.page.get_by_text("An answer to Ada.")).to_be_visible()
        expect(owner.page.get_by_text("Ada Lovelace", exact=True)).to_be_visible()
        owner.check_layout("shared-message")

        owner.page.get_by_role("button", name="Share", exact=True).click()
        read_by_a_link(owner, dialog, browser)
        dialog.get_by_role("button", name="Remove Ada Lovelace").click()
        expect(ada.page.get_by_role("heading", name="There is no such conversation")).to_be_visible()
        ada.check_layout("shared-no-more")
        # The 409 is expected: the app server refuses the first link and names the secrets that it has found.
        assert [each for each in owner.complaints if "409 (Conflict)" not in each] == []


def read_by_a_link(owner: Visitor, dialog: Locator, browser: Browser) -> None:
    dialog.get_by_role("button", name="Make a link").click()
    dialog.get_by_role("checkbox", name="AWS access key").check()
    dialog.get_by_text("These look like secrets.").scroll_into_view_if_needed()
    owner.check_layout("link-findings")
    dialog.get_by_role("button", name="Make the link and show them").click()
    link = dialog.get_by_label("Link", exact=True)
    link.scroll_into_view_if_needed()
    owner.check_layout("link-made")
    reader = Visitor(browser.new_context(viewport=DESKTOP))
    reader.page.goto(link.input_value())
    expect(reader.page.get_by_role("heading", name="The shared one")).to_be_visible()
    expect(reader.page.get_by_text("An answer to Ada.")).to_be_visible()
    expect(reader.page.get_by_text("Ada Lovelace")).to_have_count(0)
    reader.check_layout("linked")
    dialog.get_by_role("button", name="Remove the link Link").click()
    expect(reader.page.get_by_role("heading", name="This link has ended")).to_be_visible()
    reader.check_layout("link-ended")
    assert reader.complaints == []


def filter_the_list(ada: Visitor) -> None:
    """Chooses each filter of the list. Only the filter "Created until" hides the conversation."""
    main = ada.page.get_by_role("main")
    for name, choice in (
        ("Model", {"index": 1}),
        ("Branch", {"label": "repairs"}),
        ("Owner", {"label": "Owner"}),
    ):
        main.get_by_role("combobox", name=name, exact=True).select_option(**choice)
    before = (datetime.now(UTC) - timedelta(days=3)).date().isoformat()
    main.get_by_label("Created from").fill(before)
    expect(ada.page).to_have_url(re.compile(f"branch=repairs.*from={before}|from={before}.*branch=repairs"))
    expect(main.get_by_role("link", name="The shared one")).to_be_visible()
    main.get_by_label("Created until").fill(before)
    expect(main.get_by_role("link", name="The shared one")).to_have_count(0)
    main.get_by_label("Created until").fill("")
    expect(main.get_by_role("link", name="The shared one")).to_be_visible()
    ada.check_layout("filtered-list")


def find_in_the_conversation(ada: Visitor) -> None:
    ada.page.get_by_role("log", name="Conversation").focus()
    ada.page.keyboard.press("Control+f")
    ada.page.keyboard.type("first answ")
    bar = ada.page.get_by_role("search", name="Find in conversation")
    expect(bar.get_by_text("1 of 1, newest first")).to_be_visible()
    expect(bar.locator("mark")).to_have_text(["first", "answer"])
    expect(ada.page.locator("[aria-current=location]")).to_contain_text("The first answer.")
    ada.check_layout("found-in-conversation")
    ada.page.keyboard.press("Escape")
    expect(bar).to_have_count(0)
