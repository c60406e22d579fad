"""There is memory for one sandbox: later conversations show their place in the queue and keep their
messages.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, hang, say
from tests.support.server import AppServerProcess, conversation, start_conversation, wait_for_status

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ONE = str(512 * 1024**2)
FORGET_ALL_BUT_THE_PROOF = """
    Object.keys(localStorage)
        .filter((key) => key !== 'slipway.page-proof')
        .forEach((key) => localStorage.removeItem(key))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AppServerProcess]:
    limits = {"SLIPWAY_SANDBOX_MEMORY_BYTES": ONE, "SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES": ONE}
    with AppServerProcess(tmp_path / "home", sandbox="process", environment=limits) as process:
        yield process


def place(page: Page, number: int) -> None:
    # The folded output may contain the same text.
    told = page.get_by_text(f"Number {number} of").filter(visible=True)
    expect(told.first).to_be_visible()


def test_a_message_to_a_sleeping_sandbox_waits_for_memory_and_outlives_the_server(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    server = scripted_server
    scripted_llm.script(say("Noted."), hang())
    scripted_llm.fallback = lambda _: say("Here I am.")
    with server.client() as client, visitor() as someone:
        sleeper = start_conversation(client, "Note this", title="The sleeper")
        wait_for_status(client, sleeper, "finished")
        client.post(f"/sandboxes/{sleeper}/pause").raise_for_status()
        busy = start_conversation(client, "Work on and on", title="The busy one")
        wait_for_status(client, busy, "running")

        someone.sign_in(server)
        page = someone.page
        page.goto(f"{server.url}/conversations/{sleeper}")
        expect(page.get_by_text("Noted.")).to_be_visible()
        box = page.get_by_role("textbox", name="Message to the agent")
        box.fill("Are you there?")
        box.press("Enter")
        place(page, 1)
        someone.check_layout("waiting-message")

        page.get_by_role("button", name="Take back").click()
        expect(box).to_have_value("Are you there?")
        expect(page.get_by_text("Asleep", exact=True).first).to_be_visible()
        assert conversation(client, sleeper)["sandbox_status"] == "PAUSED"

        box.press("Enter")
        place(page, 1)
        server.kill()
        server.start()
        page.evaluate(FORGET_ALL_BUT_THE_PROOF)
        page.reload()
        expect(page.get_by_text("Are you there?", exact=True)).to_be_visible()
        client.delete(f"/app-conversations/{busy}").raise_for_status()
        expect(page.get_by_text("Here I am.")).to_be_visible()
        expect(page.get_by_text("Are you there?", exact=True)).to_have_count(1)
        expect(page.get_by_role("button", name="Take back")).to_have_count(0)


def test_a_new_task_shows_its_position_in_the_queue_and_starts_when_another_ends(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    server = scripted_server
    scripted_llm.script(hang())
    scripted_llm.fallback = lambda _: say("Now it is my turn.")
    with server.client() as client, visitor() as someone:
        busy = start_conversation(client, "Work on and on", title="The busy one")
        wait_for_status(client, busy, "running")
        start_conversation(client, "I came before", title="The one before")
        someone.sign_in(server)
        page = someone.page
        page.goto(server.url)
        page.get_by_label("Task").fill("Wait for your turn")
        page.get_by_role("button", name="Start", exact=True).click()
        place(page, 2)
        someone.check_layout("waiting-start")

        client.delete(f"/app-conversations/{busy}").raise_for_status()
        place(page, 1)
        page.get_by_role("link", name="The one before").first.wait_for()
        first = next(
            each["id"]
            for each in client.get("/app-conversations/search").json()["items"]
            if each["title"] == "The one before"
        )
        client.delete(f"/app-conversations/{first}").raise_for_status()
        expect(page.get_by_text("Now it is my turn.")).to_be_visible()
        assert not someone.complaints
