"""An invited user sets a password, adds an authenticator app, and signs in again with both."""

import re
import time
from pathlib import Path

import pyotp
import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser

PASSWORD = "purple walrus on a train"


def test_an_invited_person_signs_in_with_a_password_and_an_authenticator_app(tmp_path: Path) -> None:
    with AppServerProcess(tmp_path / "home", sandbox="process") as server, visitor() as ada:
        with server.client() as client:
            invited = client.post("/people", json={"name": "Ada Lovelace"}).raise_for_status().json()
        page = ada.page
        page.goto(invited["sign_in_link"]["url"])
        page.get_by_label("New password").fill(PASSWORD)
        ada.check_layout("password-invitation")
        page.get_by_role("button", name="Set a password").click()
        expect(page).to_have_url(re.compile(r"://[^/]+/$"))

        page.goto(f"{server.url}/settings/browsers")
        expect(page.get_by_text("Login name ada.lovelace")).to_be_visible()
        page.get_by_role("button", name="Add an app").click()
        page.get_by_label("Current password").fill(PASSWORD)
        page.get_by_role("button", name="Next").click()
        authenticator = pyotp.TOTP(page.get_by_label("Secret for the authenticator app").input_value())
        picture = page.get_by_role("img", name="QR code")
        assert picture.evaluate("image => image.naturalWidth") > 100
        ada.check_layout("password-totp")
        # The previous code, so that the current code can be used later.
        page.get_by_label("Code", exact=True).fill(authenticator.at(time.time() - 30))
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_role("list", name="Recovery codes").get_by_role("listitem")).to_have_count(10)
        ada.check_layout("password-recovery-codes")
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_text("10 recovery codes left")).to_be_visible()
        ada.check_layout("password-settings")
        assert ada.complaints == []

        page.get_by_role("button", name="Sign out", exact=True).first.click()
        page.get_by_label("Login name").fill("Ada.Lovelace")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        ada.check_layout("password-sign-in")
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_label("Code").fill(authenticator.now())
        ada.check_layout("password-code")
        page.get_by_role("button", name="Sign in", exact=True).click()
        expect(page.get_by_role("heading", name="Two ways to begin")).to_be_visible()
