"""A user works in the terminal of a sandbox in a real Chromium, and comes back to it after a reload."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser


def open_terminal(page: Page) -> None:
    page.get_by_role("tab", name="Terminal").click()
    # The list for screen readers holds what is on the screen.
    expect(screen(page)).to_contain_text(re.compile(r"[$#]"))


def screen(page: Page) -> Locator:
    return page.locator(".xterm-accessibility-tree")


def test_a_user_works_in_the_terminal_and_comes_back_to_it(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(say("Hello."))
    with scripted_server.client() as client, visitor() as someone:
        conversation = start_conversation(client, "Hello.")
        wait_for_status(client, conversation, "finished")
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        open_terminal(page)
        terminal = page.get_by_role("textbox", name="Terminal in the sandbox")
        terminal.press_sequentially("mark=here; printf 'a\\033[31mb\\033[0mc\\n'; stty size\n")
        expect(screen(page)).to_contain_text("abc")
        terminal.press_sequentially("sleep 600\n")
        terminal.press("Control+c")
        terminal.press_sequentially("echo stopped-$?\n")
        expect(screen(page)).to_contain_text("stopped-130")
        someone.check_layout("terminal")

        page.reload()
        open_terminal(page)
        expect(screen(page)).to_contain_text("stopped-130")
        terminal.press_sequentially("echo still-$mark\n")
        expect(screen(page)).to_contain_text("still-here")

        terminal.press_sequentially("exit 3\n")
        expect(page.get_by_text("The shell has ended with exit code 3.")).to_be_visible()
        page.get_by_role("button", name="Open a new shell").click()
        terminal.press_sequentially("echo new-$mark.\n")
        expect(screen(page)).to_contain_text("new-.")
        terminal.press("Shift+Escape")
        expect(page.get_by_text("The agent does not see this terminal.")).to_be_focused()
        assert someone.complaints == []
