"""Signing in by SimpleSAMLphp, an identity provider that others have made."""

import base64
import html
import re
from pathlib import Path

import pytest

from tests.app_server.conftest import App
from tests.app_server.sign_in.saml_site import Browser, SamlSite
from tests.support.saml_provider import encoded
from tests.support.simplesamlphp import SimpleSamlPhp

pytestmark = [pytest.mark.xmlsec1, pytest.mark.simplesamlphp]


async def response_by(browser: Browser) -> str:
    """Begins a sign-in, and returns the form field of the provider's page."""
    page = await browser.at_provider(await browser.begin())
    found = re.search(r'name="SAMLResponse" value="([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def wrapped(field: str) -> str:
    """The response with a forged assertion before the signed one."""
    xml = base64.b64decode(field).decode()
    found = re.search(r"<saml:Assertion .*</saml:Assertion>", xml, re.DOTALL)
    assert found is not None, xml
    forged = re.sub(r"<ds:Signature .*</ds:Signature>", "", found[0], flags=re.DOTALL)
    forged = forged.replace(' ID="', ' ID="forged', 1).replace(">ada<", ">eve<")
    return encoded(xml.replace(found[0], forged + found[0], 1))


async def test_its_signed_responses_count_once_and_others_never(app: App, tmp_path: Path) -> None:
    provider = SimpleSamlPhp(tmp_path)
    site = SamlSite(app, provider, roles={"admins": "admin"})
    ours = site.addresses
    ends = {}
    with provider.running():
        async with site.browser() as browser:
            for parts in ("assertion", "response", "assertion and response", ""):
                signs = {f"saml20.sign.{part}": part in parts for part in ("assertion", "response")}
                provider.register(ours.entity_id, ours.acs, **signs)
                ends[parts] = (await browser.send_field(await response_by(browser))).partition("=")[0]
            provider.register(ours.entity_id, ours.acs, **{"saml20.sign.response": False})
            wrap = await browser.send_field(wrapped(await response_by(browser)))
            field = await response_by(browser)
            signed_in = await browser.finish(await browser.send_field(field))
            await browser.begin()
            replayed = await browser.send_field(field)

    assert ends == {
        "assertion": "token",
        "response": "token",
        "assertion and response": "token",
        "": "refused",
    }
    assert wrap == "refused=saml_response_invalid"
    assert (signed_in["name"], signed_in["role"]) == ("Ada", "admin")
    assert replayed == "refused=saml_response_used"
