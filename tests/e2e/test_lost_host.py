"""The sandbox host of a running conversation is lost: the user chooses to wait or to continue from the
backup.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.browser import PHONE, visitor
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import events
from tests.support.two_hosts import two_hosts

pytestmark = [pytest.mark.browser, pytest.mark.own_engine, pytest.mark.timeout(900)]


def test_its_user_chooses_between_waiting_and_the_backup_and_reads_what_the_files_are(
    tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    with two_hosts(tmp_path, scripted_llm) as site, visitor() as someone:
        lost = site.start("Keep notes", "echo mine > notes")
        said = site.back_up(lost, lost)
        site.keep_at_work(lost, "echo newer > notes")
        later = len(events(site.client, lost)) - said
        someone.sign_in(site.server)
        page = someone.page
        page.goto(f"{site.server.url}/conversations/{lost}")

        site.big.lose()
        expect(page.get_by_text("Sandbox out of reach")).to_be_visible()
        someone.check_layout("host-lost")
        page.get_by_role("button", name="Continue on another host").click()
        question = page.get_by_role("dialog", name=re.compile("Continue from the backup of"))
        expect(question).to_contain_text(f"{later} later events stay in the log")
        someone.check_layout("host-lost-question")
        question.get_by_role("button", name="Wait for the host").click()
        expect(question).to_be_hidden()
        someone.check_layout("host-lost-choice")
        again = page.get_by_role("button", name="Continue from the backup")
        page.set_viewport_size(PHONE)
        place = again.bounding_box()
        assert place
        assert place["x"] + place["width"] <= PHONE["width"], "all of it is in sight"
        again.click()
        question.get_by_role("button", name="Continue from the backup").click()

        expect(page.get_by_text("The files are those of")).to_be_visible()
        expect(page.get_by_text(f"The changes to files by {later} later events are lost")).to_be_visible()
        expect(page.get_by_text("Paused", exact=True).first).to_be_visible()
        someone.check_layout("host-lost-restored")
        scripted_llm.script(say("Here I am again."))
        page.get_by_role("textbox").last.fill("Are you there?")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Here I am again.")).to_be_visible()
