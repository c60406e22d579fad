"""The owner enforces a setting and sets a quota: a member's settings page is locked, and a start is
refused.
"""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.browser import DESKTOP, Visitor, visitor
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser


def test_a_member_sees_what_the_organisation_has_set(tmp_path: Path) -> None:
    with AppServerProcess(tmp_path / "home", sandbox="process") as server, server.client() as client:
        invited = client.post("/people", json={"name": "Ada", "role": "member"}).raise_for_status().json()
        _set_up(client)
        with visitor() as owner:
            owner.sign_in(server)
            page = owner.page
            page.goto(f"{server.url}/settings/organisation")
            page.get_by_role("button", name="Change Confirmation").click()
            page.get_by_label("Confirmation", exact=True).select_option("Ask when risky")
            page.get_by_label("Enforce: lower levels cannot change it").check()
            owner.check_layout("organisation-form")
            page.get_by_role("button", name="Save").click()
            expect(page.get_by_text("Ask when risky · set by")).to_be_visible()
            owner.check_layout("organisation")

            assert page.context.browser is not None
            ada = Visitor(page.context.browser.new_context(viewport=DESKTOP))
            ada.page.goto(invited["sign_in_link"]["url"])
            ada.page.get_by_role("button", name="Not now").click()
            ada.page.goto(f"{server.url}/settings/confirmation")
            expect(ada.page.get_by_text("set by your organisation")).to_be_visible()
            expect(ada.page.get_by_role("radio", name="Run freely in the sandbox")).to_be_disabled()
            ada.check_layout("organisation-locked")
            ada.page.goto(f"{server.url}/settings/organisation")
            expect(ada.page.get_by_text("Enforced")).to_be_visible()
            ada.check_layout("organisation-member")
            ada.page.goto(f"{server.url}/settings/mcp-servers")
            given = ada.page.get_by_role("region", name="From your organisation and teams")
            expect(given.get_by_text("tracker")).to_be_visible()
            ada.check_layout("organisation-mcp-servers-member")
            page.goto(f"{server.url}/settings/mcp-servers")
            expect(page.get_by_role("button", name="Change tracker")).to_be_visible()
            owner.check_layout("organisation-mcp-servers")
            page.goto(f"{server.url}/settings/network")
            page.get_by_role("button", name="Add a rule for them").click()
            page.get_by_label("Host", exact=True).fill("*.example.org")
            owner.check_layout("organisation-rule-form")
            page.get_by_role("dialog").get_by_role("button", name="Save").click()
            expect(page.get_by_text("Denied", exact=True)).to_be_visible()
            page.get_by_role("button", name="Change *.example.org").scroll_into_view_if_needed()
            owner.check_layout("organisation-rules")
            ada.page.goto(server.url)
            ada.page.get_by_role("button", name="Start the demo").click()
            expect(ada.page.get_by_text("Your organisation has set it")).to_be_visible()
            ada.check_layout("organisation-quota")
            assert owner.complaints == []


def _set_up(client: httpx.Client) -> None:
    """Makes the settings of the organisation. The owner uses up its only start of this hour."""
    path = "/administration/settings/organisation"
    client.put(f"{path}/commit_trailer", json={"value": "assisted_by"}).raise_for_status()
    server = {"url": "https://tracker.example.org/mcp", "description": "Issues of all", "enforced": True}
    client.put("/administration/items/mcp_server/tracker", json=server).raise_for_status()
    client.put(f"{path}/monthly_budget", json={"value": 200, "enforced": True}).raise_for_status()
    client.put(f"{path}/organisation_starts_per_hour", json={"value": 1}).raise_for_status()
    client.post("/app-conversations", json={"llm_profile": "demo"}).raise_for_status()
