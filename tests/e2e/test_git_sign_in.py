"""A user connects a git host in a real browser: signs in at the host, returns, and sees the connected
account.
"""

import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.oauth_host import CLIENT_ID, CLIENT_SECRET, OAuthHost
from tests.support.server import AppServerProcess

pytestmark = pytest.mark.browser


def test_a_browser_goes_to_the_host_and_comes_back_connected(server: AppServerProcess) -> None:
    with OAuthHost() as host, visitor() as owner:
        page = owner.page
        owner.sign_in(server)
        page.goto(f"{server.url}/settings/git-hosts")
        apps = page.get_by_role("region", name="Applications for signing in")
        apps.get_by_label("Application at").select_option("github")
        apps.get_by_label("Host of the application").fill(host.origin)
        apps.get_by_label("Client ID").fill(CLIENT_ID)
        apps.get_by_label("Client secret").fill(CLIENT_SECRET)
        apps.get_by_role("button", name="Save the application").click()
        name = host.origin
        page.get_by_role("button", name=f"Connect {name}", exact=True).click()
        expect(page.get_by_text("GitHub · connected as ada")).to_be_visible()
        expect(page.get_by_text("Signed in · repo read:org")).to_be_visible()
        owner.check_layout("git-sign-in")
        page.get_by_role("button", name=f"Connect {name} with a code").click()
        expect(page.get_by_text("WDJB-MJHT")).to_be_visible()
        owner.check_layout("git-sign-in-code")
        (code,) = host.devices
        host.devices[code] = "allowed"
        expect(page.get_by_text("WDJB-MJHT")).to_be_hidden()
        assert owner.complaints == []
