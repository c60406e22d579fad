"""Users sign in with an OpenID Connect provider and a SAML provider in a real browser."""

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.browser import visitor
from tests.support.identity_provider import CertifiedProvider
from tests.support.saml_provider import Person, SamlIdentityProvider
from tests.support.server import AppServerProcess

pytestmark = [pytest.mark.browser, pytest.mark.xmlsec1]


def test_a_person_continues_with_their_provider_or_reads_why_not(tmp_path: Path) -> None:
    provider = CertifiedProvider(tmp_path)
    settings = provider.settings(roles={"admins": "admin"}, default_role=None)
    saml = SamlIdentityProvider(tmp_path)
    saml.person = Person("grace", {"name": ["Grace"]})
    environment = {
        "SLIPWAY_OIDC_PROVIDERS": json.dumps([settings]),
        "SLIPWAY_SAML_PROVIDERS": json.dumps([saml.settings(name="initech", title="Initech")]),
    }
    with (
        AppServerProcess(tmp_path / "home", sandbox="process", environment=environment) as server,
        provider.running(server.url),
        saml.listening(lambda: _metadata(server)),
    ):
        with visitor() as ada:
            page = ada.page
            page.goto(f"{server.url}/sign-in")
            provider.refuse_next()
            page.get_by_role("link", name="Continue with Acme").click()
            expect(page.get_by_text("The provider did not sign you in.")).to_be_visible()
            ada.check_layout("sign-in-refused-by-provider")

            page.get_by_role("link", name="Continue with Acme").click()
            expect(page).to_have_url(re.compile(r"://[^/]+/$"))
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            page.goto(f"{server.url}/settings/people")
            expect(page.get_by_text("Ada").first).to_be_visible()
            page.reload()
            expect(page.get_by_text("Ada").first).to_be_visible()
            providers = page.get_by_role("region", name="Single sign-on")
            expect(providers.get_by_text("Assertion consumer service")).to_be_visible()
            providers.scroll_into_view_if_needed()
            ada.check_layout("identity-providers")
            page.goto(f"{server.url}/settings/browsers")
            expect(page.get_by_role("button", name="Disconnect Acme")).to_be_visible()
            ada.check_layout("connected-accounts")
            assert not ada.complaints

        with visitor() as grace:
            page = grace.page
            page.goto(f"{server.url}/sign-in")
            page.get_by_role("link", name="Continue with Initech").click()
            expect(page.get_by_role("button", name="Sign out")).to_be_visible()
            page.goto(f"{server.url}/settings/browsers")
            expect(page.get_by_role("button", name="Disconnect Initech")).to_be_visible()
            expect(page.get_by_role("button", name="Connect Acme")).to_be_visible()
            assert not grace.complaints


def _metadata(server: AppServerProcess) -> str:
    return httpx.get(f"{server.url}/api/v1/sign-in/saml/initech/metadata", trust_env=False).text
