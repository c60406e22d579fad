"""A user replays, links, archives and finds a conversation in the browser, and tries a retention rule."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser


def test_a_conversation_is_replayed_linked_and_archived(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    server = scripted_server
    long = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(60))
    scripted_llm.script(
        call("terminal", command="echo three ships"),
        call("terminal", command="seq 1 40"),
        say(f"There are three ships. {long}"),
    )
    with server.client() as client, visitor() as someone:
        talk = start_conversation(client, "Count the ships", title="The ships")
        wait_for_status(client, talk, "finished")
        someone.sign_in(server)
        page = someone.page
        address = f"{server.url}/conversations/{talk}"
        page.goto(address)
        expect(page.get_by_text("Paragraph 59 of a long answer.")).to_be_visible()
        events = client.get(f"/conversation/{talk}/events/search", params={"limit": 100}).json()["items"]
        action = next(event["id"] for event in events if event["kind"] == "ActionEvent")

        page.goto(f"{address}?event={action}")
        marked = page.locator("[aria-current=location]")
        expect(marked).to_be_in_viewport()
        expect(marked).to_contain_text("echo three ships")
        someone.check_layout("linked-event")
        marked.hover()
        marked.get_by_role("button", name="Actions for this event").click()
        someone.check_layout("event-menu")
        page.get_by_role("menuitem", name="Replay from here").click()

        slider = page.get_by_role("slider", name="Position in the conversation")
        expect(slider).to_be_visible()
        expect(page.get_by_text("Paragraph 59 of a long answer.")).to_have_count(0)
        someone.check_layout("replay")
        page.keyboard.press("End")
        expect(page.get_by_text("Paragraph 59 of a long answer.")).to_be_in_viewport()
        page.keyboard.press("Home")
        expect(page.get_by_text("echo three ships")).to_have_count(0)
        page.get_by_label("Speed").select_option("16")
        page.get_by_role("button", name="Play (Space)").click()
        expect(page.get_by_text("Paragraph 59 of a long answer.")).to_be_in_viewport()
        page.get_by_role("button", name="Close the replay").click()

        page.get_by_role("button", name="More actions", exact=True).click()
        someone.check_layout("conversation-menu")
        page.get_by_role("menuitem", name="Archive", exact=True).click()
        page.goto(f"{server.url}/conversations")
        expect(page.get_by_role("main").get_by_text("The ships")).to_have_count(0)
        page.get_by_label("Archived conversations").select_option("Archived")
        expect(page.get_by_role("main").get_by_text("The ships")).to_be_visible()
        someone.check_layout("archived-conversations")

        page.goto(f"{server.url}/settings/retention")
        page.get_by_label("Days without activity").fill("90")
        expect(page.get_by_text("This would archive 0 conversations now.")).to_be_visible()
        someone.check_layout("retention")
        assert someone.complaints == []
