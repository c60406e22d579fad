"""The owner invites users, who sign in with a link in another browser and work with the shared model."""

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.browser import DESKTOP, Visitor, visitor
from tests.support.mail_receiver import MailReceiver
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser


def test_a_person_is_invited_signs_in_and_is_disabled_while_the_page_is_open(tmp_path: Path) -> None:
    with (
        MailReceiver() as mail,
        AppServerProcess(tmp_path / "home", sandbox="process", environment=mailing(mail)) as server,
        visitor() as owner,
    ):
        owner.sign_in(server)
        owner.page.goto(f"{server.url}/settings/people")
        owner.page.get_by_role("textbox", name="Name").fill("Ada Lovelace")
        owner.page.get_by_label("Role", exact=True).select_option("Member")
        owner.page.get_by_role("button", name="Create an account").click()
        link = owner.page.get_by_role("textbox", name="Sign-in link").input_value()
        owner.check_layout("people-link")
        owner.page.get_by_role("button", name="Done").click()
        expect(owner.page.get_by_text("Never signed in")).to_be_visible()
        owner.check_layout("people")
        invite_by_mail(owner, mail, server.url)

        browser = owner.page.context.browser
        assert browser is not None
        ada = Visitor(browser.new_context(viewport=DESKTOP))
        ada.page.goto(link)
        ada.page.get_by_role("button", name="Not now").click()
        expect(ada.page).to_have_url(re.compile(r"://[^/]+/$"))
        ada.page.goto(f"{server.url}/settings/people")
        expect(ada.page.get_by_text("Only the owner and admins")).to_be_visible()
        ada.page.get_by_role("link", name="API keys").click()
        ada.page.get_by_role("textbox", name="Name").fill("nightly")
        ada.page.get_by_label("May").select_option("Only read")
        ada.page.get_by_label("Expires").select_option("In 30 days")
        ada.page.get_by_role("button", name="Create a key").click()
        ada.page.get_by_role("button", name="Done").click()
        expect(ada.page.get_by_text("Only read ·")).to_be_visible()
        ada.check_layout("people-keys")
        ada.page.get_by_role("link", name="Sign-in").click()
        expect(ada.page.get_by_text("This browser")).to_be_visible()
        ada.check_layout("browsers")
        codes = httpx.post(f"{server.url}/oauth/device/authorize", data={"scope": "work"}).json()
        ada.page.goto(codes["verification_uri_complete"])
        expect(ada.page.get_by_text(codes["user_code"])).to_be_visible()
        ada.check_layout("device")
        ada.page.get_by_role("button", name="Allow").click()
        expect(ada.page.get_by_text("The terminal is signed in")).to_be_visible()
        asked = {"device_code": codes["device_code"]}
        token = httpx.post(f"{server.url}/oauth/device/token", data=asked).raise_for_status().json()
        terminal = {"Authorization": f"Bearer {token['access_token']}"}
        me = httpx.get(f"{server.url}/api/v1/users/me", headers=terminal).raise_for_status().json()
        assert me["name"] == "Ada Lovelace"
        ada.page.goto(f"{server.url}/settings/api-keys")

        owner.page.get_by_role("button", name="Disable Ada Lovelace").click()
        expect(owner.page.get_by_role("button", name="Enable Ada Lovelace")).to_be_visible()
        # Disabling the account ends the event stream of the page, so the page says why without a click.
        expect(ada.page.get_by_text("Your account is disabled.")).to_be_visible()
        ada.check_layout("people-disabled")
        assert owner.complaints == []


def invite_by_mail(owner: Visitor, mail: MailReceiver, url: str) -> None:
    owner.page.get_by_role("textbox", name="Name").fill("Grace Hopper")
    owner.page.get_by_role("textbox", name="E-mail address").fill("grace@harbour.dev")
    owner.page.get_by_role("button", name="Create an account").click()
    expect(owner.page.get_by_text("The invitation is sent to grace@harbour.dev")).to_be_visible()
    [(recipients, message)] = mail.messages
    assert recipients == ["grace@harbour.dev"]
    assert f"{url}/sign-in#token=" in message.get_content()


def mailing(mail: MailReceiver) -> dict[str, str]:
    server = {"host": "127.0.0.1", "port": mail.port, "security": "none", "sender": "slipway@acme.dev"}
    return {"SLIPWAY_MAIL": json.dumps(server)}


def test_an_invited_person_works_with_the_model_that_the_owner_shares(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    server = scripted_server
    scripted_llm.script(say("Hello Ada."), say("Hello owner."))
    with server.client() as client, visitor() as owner:
        invited = client.post("/people", json={"name": "Ada", "role": "member"}).raise_for_status().json()
        owner.sign_in(server)
        owner.page.goto(f"{server.url}/settings/models")
        owner.page.get_by_role("button", name="Actions for scripted").click()
        owner.page.get_by_role("menuitem", name="Share with everyone").click()
        expect(owner.page.get_by_text("Shared with everyone")).to_be_visible()
        owner.check_layout("models-shared")

        browser = owner.page.context.browser
        assert browser is not None
        ada = Visitor(browser.new_context(viewport=DESKTOP))
        ada.page.goto(invited["sign_in_link"]["url"])
        ada.page.get_by_role("button", name="Not now").click()
        expect(ada.page).to_have_url(re.compile(r"://[^/]+/$"))
        ada.page.get_by_label("Task").fill("Say hello")
        ada.page.get_by_role("button", name="Start", exact=True).click()
        expect(ada.page.get_by_text("Hello Ada.")).to_be_visible()
        ada.page.goto(f"{server.url}/settings/models")
        expect(ada.page.get_by_text("Shared by an administrator")).to_be_visible()
        ada.check_layout("models-shared-by-other")
        assert owner.complaints + ada.complaints == []

        owner.page.goto(f"{server.url}/settings/people")
        owner.page.get_by_role("button", name="Disable Ada").click()
        owner.page.get_by_role("button", name="Delete Ada").click()
        dialog = owner.page.get_by_role("dialog", name="Delete Ada?")
        dialog.get_by_label("1 conversation, with its sandbox").select_option("hand_over")
        dialog.get_by_label(re.compile("model profile")).select_option("delete")
        dialog.get_by_label("Hand over to").select_option("Owner")
        owner.check_layout("delete-person")
        dialog.get_by_role("button", name="Delete the account").click()
        expect(owner.page.get_by_text("Ada is being deleted")).to_be_visible()
        owner.check_layout("people-deleting")
        # The running sandbox goes on and now belongs to its new owner.
        owner.page.goto(f"{server.url}/conversations")
        owner.page.get_by_role("link", name="A title").first.click()
        box = owner.page.get_by_role("textbox", name="Message to the agent")
        box.fill("And for me?")
        box.press("Enter")
        expect(owner.page.get_by_text("Hello owner.")).to_be_visible()
        assert owner.complaints == []
