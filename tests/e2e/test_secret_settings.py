"""A user sets a secret in a real Chromium, an agent's command uses it, and its value is shown nowhere."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

CANARY = "canary-value-55e1"


def test_a_secret_is_set_used_and_nowhere_to_be_seen(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    command = "echo token=$TOKEN shared=$SHARED"
    scripted_llm.script(call("terminal", command=command), say("Used it."))
    with scripted_server.client() as client, visitor() as someone:
        someone.sign_in(scripted_server)
        page = someone.page
        page.goto(f"{scripted_server.url}/settings/secrets")
        page.get_by_label("Name", exact=True).fill("TOKEN")
        page.get_by_label("Value", exact=True).fill(CANARY)
        page.get_by_label("What it is for").fill("Read access to the staging server")
        page.get_by_role("button", name="Save the secret").click()
        expect(page.get_by_text("Read access to the staging server")).to_be_visible()
        page.get_by_role("button", name="Add a secret for them").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name", exact=True).fill("SHARED")
        dialog.get_by_label("Value", exact=True).fill(f"{CANARY}-of-all")
        someone.check_layout("settings-secrets-of-all-form")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Change SHARED")).to_be_visible()
        someone.check_layout("settings-secrets")

        conversation = start_conversation(client, "Use the token.")
        wait_for_status(client, conversation, "finished")
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        expect(page.get_by_text("token=<secret-hidden> shared=<secret-hidden>").first).to_be_visible()
        assert CANARY not in page.content()
        assert someone.complaints == []
