"""A user sees the output of a running command and the wait for the model in a real Chromium, also after a
reload.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, fail, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

COLOURS = r"""
printf '\033[1mPalette\033[0m\n'
for row in 3 9 4 10; do
  for n in 0 1 2 3 4 5 6 7; do printf "\033[${row}${n}m ${row}${n} \033[0m "; done; echo
done
printf '\033[41;97m FAIL \033[0m \033[42;30m PASS \033[0m \033[7m inverse \033[0m \033[31;7m red \033[0m\n'
printf '\033[38;2;255;255;0myellow\033[0m \033[38;2;0;0;60mnavy\033[0m '
printf '\033[2mdim\033[0m \033[3;4mslanted\033[0m\n'
"""


def test_output_is_seen_while_the_command_runs_and_after_a_reload(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    waiting = "until [ -e go-on ]; do sleep 0.1; done; echo; echo end"
    command = rf"{COLOURS} printf '\033[32mstep 1\033[0m of 2'; {waiting}"
    scripted_llm.script(call("terminal", command=command, timeout=600, summary="Build it"), say("Built."))
    with scripted_server.client() as client, visitor() as someone:
        conversation = start_conversation(client, "Build it.", confirmation_mode="never")
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/conversations/{conversation}")

        expect(page.get_by_text("step 1", exact=True)).to_have_class("ansi-front")
        page.reload()
        expect(page.get_by_text("step 1", exact=True)).to_have_class("ansi-front")
        someone.check_layout("live-output")
        client.post(
            f"/app-conversations/{conversation}/execute-bash-command", json={"command": "touch go-on"}
        ).raise_for_status()
        wait_for_status(client, conversation, "finished")

        expect(page.get_by_text("Built.").first).to_be_visible()
        expect(page.get_by_text("step 1", exact=True)).to_have_class("ansi-front")
        someone.check_layout("coloured-output")
        scripted_llm.script(fail(429, retry_after=300))
        page.get_by_label("Message to the agent").fill("Build it again.")
        page.keyboard.press("Enter")
        wait_for_the_model = page.get_by_text(re.compile(r"asking again in [12]\d\d s \(attempt 2"))
        expect(wait_for_the_model).to_be_visible()
        page.reload()
        expect(wait_for_the_model).to_be_visible()
        someone.check_layout("retry")
        told = str(scripted_llm.requests[-1].messages)
        assert "step 1 of 2" in told
        assert "\\x1b" not in told
        assert someone.complaints == []
