"""Tests of single logout with a SAML provider: which browsers are signed out, and which messages are
refused.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from saml2.s_utils import success_status_factory
from saml2.samlp import Status

from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sign_in.saml_site import BEGIN, Browser, SamlSite
from tests.app_server.sign_in.test_oidc import audited
from tests.support.saml_provider import Person, SamlIdentityProvider

pytestmark = pytest.mark.xmlsec1

SLO = f"{BEGIN}/slo"
SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
ADA = Person("ada", {"name": ["Ada"]})
EVE = Person("eve", {"name": ["Eve"]})
FORM = {"Origin": "https://id.example.org"}


@pytest.fixture
def provider(tmp_path: Path) -> SamlIdentityProvider:
    return SamlIdentityProvider(tmp_path)


def site_with_key(app: App, provider: SamlIdentityProvider) -> SamlSite:
    files = {
        "signing_key_file": provider.folder / "idp.key",
        "signing_certificate_file": provider.folder / "idp.pem",
    }
    return SamlSite(app, provider, **files)


async def signed_in(browser: Browser, person: Person) -> str:
    """Signs the browser in as this person. Returns the SessionIndex of the provider's response."""
    xml = await browser.answered(person)
    user = await browser.finish(await browser.send(xml))
    browser.client.headers["X-Slipway-Proof"] = user["page_proof"]
    found = re.search(r'SessionIndex="([^"]+)"', xml)
    assert found is not None, xml
    return found[1]


async def status(*browsers: Browser) -> list[int]:
    return [(await browser.client.get("/api/v1/users/me")).status_code for browser in browsers]


def path_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


async def test_a_request_of_the_provider_signs_out_the_browsers_that_it_names(
    app: App, provider: SamlIdentityProvider
) -> None:
    site = site_with_key(app, provider)
    async with site.browser() as first, site.browser() as second, site.browser() as eve:
        index = await signed_in(first, ADA)
        await signed_in(second, ADA)
        of_eve = await signed_in(eve, EVE)
        ours = (await first.client.get(f"{BEGIN}/metadata")).text

        # A request with Ada's name and the session of another person signs out no browser.
        foreign = provider.logout_request(ours, "ada", of_eve)
        assert (await eve.client.get(path_of(foreign))).status_code == 303
        assert await status(first, second, eve) == [200, 200, 200]

        request = provider.logout_request(ours, "ada", index)
        reply = await second.client.get(path_of(request))
        assert await status(first, second, eve) == [401, 200, 200]
        answer = provider.read_logout(ours, reply.headers["location"])
        assert (answer.destination, answer.status) == (provider.slo, SUCCESS)
        assert answer.relay_state == "state of the provider"
        again = await second.client.get(path_of(request))
        assert_problem(again, 403, "saml_response_used")

        field = provider.logout_request(ours, "ada", by_form=True)
        reply = await second.client.post(SLO, data={"SAMLRequest": field}, headers=FORM)
        assert await status(second, eve) == [401, 200]
        assert provider.read_logout(ours, reply.headers["location"]).status == SUCCESS
    told = await audited(app, expected=7)
    assert [one.details for one in told if one.action == "session.revoked"] == [{"provider": "acme"}] * 2


async def test_requests_that_are_forged_stale_or_for_others_sign_out_nobody(
    app: App, provider: SamlIdentityProvider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = site_with_key(app, provider)
    stranger = SamlIdentityProvider(tmp_path_factory.mktemp("stranger"))
    old = (datetime.now(UTC) - timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    async with site.browser() as browser:
        await signed_in(browser, ADA)
        ours = (await browser.client.get(f"{BEGIN}/metadata")).text
        sound = provider.logout_request(ours, "ada")
        refused = {
            "unsigned": sound.partition("&SigAlg=")[0],
            "other state": sound.replace("RelayState=state", "RelayState=fate"),
            "twice": f"{sound}&SAMLRequest=abc",
            "state by another spelling": f"{sound}&%52elayState=fate",
            "no XML": f"{SLO}?SAMLRequest=abc",
            "other key": stranger.logout_request(ours, "ada"),
            "stale": provider.logout_request(ours, "ada", issue_instant=old),
            "expired": provider.logout_request(ours, "ada", not_on_or_after=old),
            "elsewhere": provider.logout_request(ours, "ada", destination="https://other.example.org/slo"),
            "nowhere": provider.logout_request(ours, "ada", destination=""),
        }
        for name, address in refused.items():
            reply = await browser.client.get(path_of(address))
            assert (name, reply.status_code) == (name, 400)
            assert reply.json()["code"] == "saml_logout_invalid", name
        for field in (
            stranger.logout_request(ours, "ada", by_form=True),
            provider.logout_request(ours, "ada", by_form=True, issue_instant=old),
        ):
            reply = await browser.client.post(SLO, data={"SAMLRequest": field}, headers=FORM)
            assert_problem(reply, 400, "saml_logout_invalid")
        assert_problem(await browser.client.get(SLO), 400, "saml_logout_invalid")
        assert await status(browser) == [200]

    without_key = SamlSite(app, provider)
    async with without_key.browser() as browser:
        assert_problem(await browser.client.get(path_of(sound)), 404, "saml_logout_not_configured")
        assert "SingleLogoutService" not in (await browser.client.get(f"{BEGIN}/metadata")).text


async def test_a_sign_out_here_ends_the_session_at_the_provider(
    app: App, provider: SamlIdentityProvider
) -> None:
    site = site_with_key(app, provider)
    ours = {"Origin": site.config.base_url}
    async with site.browser() as browser:
        index = await signed_in(browser, ADA)
        metadata = (await browser.client.get(f"{BEGIN}/metadata")).text
        reply = await browser.client.delete("/api/v1/sign-in/session", headers=ours)
        assert await status(browser) == [401]
        told = provider.read_logout(metadata, reply.json()["url"])
        assert (told.destination, told.name_id, told.indexes) == (provider.slo, "ada", [index])
        again = await browser.client.delete("/api/v1/sign-in/session", headers=ours)
        assert again.status_code == 204


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(success_status_factory(), id="success"),
        pytest.param(Status(), id="without a status code"),
        pytest.param(None, id="without a status"),
    ],
)
async def test_any_answer_of_the_provider_leads_to_the_sign_in_page(
    app: App,
    provider: SamlIdentityProvider,
    caplog: pytest.LogCaptureFixture,
    status: Status | None,
) -> None:
    site = site_with_key(app, provider)
    async with site.browser() as browser:
        ours = (await browser.client.get(f"{BEGIN}/metadata")).text
        reply = await browser.client.get(path_of(provider.logout_response(ours, status)))
        assert reply.status_code == 303, reply.text
        assert reply.headers["location"] == f"{site.config.base_url}/sign-in"
    is_success = status is not None and status.status_code is not None
    assert ("has not ended its session" in caplog.text) is not is_success
