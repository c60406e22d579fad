"""The whole path of a new user in a real Chromium: from signing in to the change in the demo repository."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, WebSocket, expect

from tests.support.browser import DESKTOP, Visitor, visitor
from tests.support.scripted_llm import ScriptedLLM, call
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

SMALL_PHONE = ViewportSize(width=390, height=640)
RECONNECTS = 100
STEPS = 40


def open_conversation(someone: Visitor, server: AppServerProcess, conversation_id: str) -> Page:
    someone.sign_in(server)
    someone.page.goto(f"{server.url}/conversations/{conversation_id}")
    return someone.page


NOT_WHOLLY_ISOLATED = re.compile("(Commands are not isolated|Partly isolated)")
"""The notice about the isolation of process sandboxes: without bubblewrap, or with bubblewrap."""


def reconnect(page: Page) -> None:
    """Acts as a laptop that wakes up: drops the connection, and resumes the event stream over a new one."""
    with page.expect_websocket(is_event_stream) as opening:
        page.evaluate("window.dispatchEvent(new Event('online'))")
    opening.value.wait_for_event("framereceived")


def is_event_stream(socket: WebSocket) -> bool:
    return "/events/stream" in socket.url


def look_at_the_model_dialog_on_a_small_phone(someone: Visitor) -> None:
    """Checks that the dialog, which is longer than the screen, scrolls to its last button and back to its
    title.
    """
    page = someone.page
    page.set_viewport_size(SMALL_PHONE)
    page.get_by_role("button", name="Add a model").first.click()
    dialog = page.get_by_role("dialog")
    title = dialog.get_by_role("heading", name="Add a model")
    save = dialog.get_by_role("button", name="Save")
    expect(title).to_be_in_viewport(ratio=1)
    save.scroll_into_view_if_needed()
    expect(save).to_be_in_viewport(ratio=1)
    save.click(trial=True)
    title.scroll_into_view_if_needed()
    expect(title).to_be_in_viewport(ratio=1)
    box = dialog.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= SMALL_PHONE["width"] - box["width"]
    someone.check_layout("add-a-model")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    page.set_viewport_size(DESKTOP)


def look_at_a_file(someone: Visitor) -> None:
    someone.page.get_by_role("tab", name="Files").click()
    files = someone.page.get_by_role("tabpanel", name="Files")
    files.get_by_role("button", name="voyage").click()
    files.get_by_role("button", name="duration.py").click()
    expect(files.get_by_role("region", name="voyage/duration.py")).to_contain_text(
        "divmod(round(seconds), 60)"
    )
    someone.check_layout("file")
    with someone.page.expect_download() as download:
        files.get_by_role("button", name="Download the file").click()
    assert "divmod(round(seconds), 60)" in download.value.path().read_text()
    files.get_by_role("button", name="Back to the list of files").click()
    expect(files.get_by_role("button", name="duration.py")).to_be_focused()
    someone.check_layout("files")


def test_a_newcomer_signs_in_tries_the_demo_and_judges_the_change(server: AppServerProcess) -> None:
    with visitor() as someone:
        page = someone.page
        page.goto(server.sign_in_link())
        expect(page.get_by_role("heading", name="Try the demo")).to_be_visible()
        expect(page.get_by_text(NOT_WHOLLY_ISOLATED)).to_be_visible()
        expect(page.get_by_role("button", name="Add a model").first).to_be_visible()
        someone.check_layout("home")
        look_at_the_model_dialog_on_a_small_phone(someone)

        page.get_by_role("button", name="Start the demo").click()
        expect(page).to_have_url(re.compile(r"/conversations/[0-9a-f]{32}$"))
        expect(page.get_by_text("Start the sandbox")).to_be_visible()
        someone.check_layout("start")
        expect(page.get_by_text("Recording").first).to_be_visible()

        expect(page.get_by_text("all seven tests pass").first).to_be_visible()
        changes = page.get_by_role("tabpanel", name="Changes")
        expect(changes.get_by_text("voyage/duration.py")).to_be_visible()
        expect(changes.get_by_text("divmod(round(seconds), 60)")).to_be_visible()
        someone.check_layout("chat")
        look_at_a_file(someone)

        page.reload()
        expect(page.get_by_text("all seven tests pass").first).to_be_visible()
        assert someone.complaints == []


def test_without_a_session_there_is_only_the_way_to_sign_in(server: AppServerProcess) -> None:
    with visitor() as someone:
        someone.page.goto(server.url)
        expect(someone.page.get_by_role("heading", name="Sign in")).to_be_visible()
        someone.check_layout("sign-in")


def test_a_link_works_once(server: AppServerProcess) -> None:
    link = server.slipway("sign-in-link").stdout.strip()
    with visitor() as first:
        first.page.goto(link)
        expect(first.page.get_by_role("link", name="New task")).to_be_visible()
    with visitor() as second:
        second.page.goto(link)
        expect(second.page.get_by_text("does not work any more")).to_be_visible()


def test_a_failed_start_shows_its_stage_cause_and_fix_and_can_be_retried(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    scripted_llm.script(call("finish", message="Up at last."))
    with scripted_server.client() as client, visitor() as someone:
        task = start_conversation(
            client, "hello", selected_repository=str(repository), selected_branch="no-such-branch"
        )
        page = open_conversation(someone, scripted_server, task)
        failure = page.get_by_role("alert").filter(has_text="no-such-branch")
        expect(failure).to_be_visible()
        expect(failure.get_by_text("main", exact=False).first).to_be_visible()
        someone.check_layout("start-failed")
        page.set_viewport_size(SMALL_PHONE)
        assert failure.evaluate("box => box.scrollWidth - box.clientWidth") <= 0, "a long path leaves its box"
        page.set_viewport_size(DESKTOP)

        subprocess.run(["git", "-C", str(repository), "branch", "no-such-branch"], check=True)
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("Up at last.").first).to_be_visible()


def test_a_browser_that_reconnects_a_hundred_times_ends_with_exactly_the_log(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(
        # Slow enough that the run lasts as long as the reconnections.
        *[
            replace(
                call("terminal", command=f"echo {step}", thought=f"Thought {step}. {'And so on. ' * 10}"),
                piece_delay_seconds=0.01,
            )
            for step in range(STEPS)
        ],
        call("finish", message="The end."),
    )
    # So tall that the page, which renders only visible rows, renders all of them.
    with scripted_server.client() as client, visitor({"width": 1440, "height": 40_000}) as someone:
        conversation_id = start_conversation(client, "forty steps")
        # Waits for the first connection: otherwise the first reconnection may replace it before it is open.
        with someone.page.expect_websocket(is_event_stream) as opening:
            page = open_conversation(someone, scripted_server, conversation_id)
        opening.value.wait_for_event("framereceived")
        for _ in range(RECONNECTS):
            reconnect(page)
        wait_for_status(client, conversation_id, "finished")
        expect(page.get_by_text("The end.").first).to_be_visible()

        shown = re.findall(r"Thought (\d+)\.", page.get_by_role("main").inner_text())
        assert [int(step) for step in shown] == list(range(STEPS))
