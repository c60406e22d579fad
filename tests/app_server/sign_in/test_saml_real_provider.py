"""Tests of signing in with SimpleSAMLphp, an identity provider of another project."""

import base64
import html
import re
from pathlib import Path

import httpx
import pytest

from tests.app_server.conftest import App
from tests.app_server.sign_in.saml_site import BEGIN, Browser, SamlSite
from tests.support.saml_provider import encoded, write_key
from tests.support.simplesamlphp import SimpleSamlPhp

pytestmark = [pytest.mark.xmlsec1, pytest.mark.simplesamlphp]


async def response_by(browser: Browser) -> str:
    """Begins a sign-in. Returns the value of the form field SAMLResponse in the provider's page."""
    page = await browser.at_provider(await browser.begin())
    found = re.search(r'name="SAMLResponse" value="([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def wrapped(field: str) -> str:
    """Returns the response with a forged assertion before the signed one, as a value of the form field."""
    xml = base64.b64decode(field).decode()
    found = re.search(r"<saml:Assertion .*</saml:Assertion>", xml, re.DOTALL)
    assert found is not None, xml
    forged = re.sub(r"<ds:Signature .*</ds:Signature>", "", found[0], flags=re.DOTALL)
    forged = forged.replace(' ID="', ' ID="forged', 1).replace(">ada<", ">eve<")
    return encoded(xml.replace(found[0], forged + found[0], 1))


async def ends_of_signed_requests(app: App, provider: SimpleSamlPhp, folder: Path) -> tuple[str, str]:
    """Signs in at a provider that accepts only signed requests: once with a signing key and once without.
    Returns the name of the parameter in the URL fragment after the first sign-in, and the provider's
    error in the second.
    """
    files = {"signing_key_file": folder / "idp.key", "signing_certificate_file": folder / "idp.pem"}
    signing, plain = SamlSite(app, provider, **files), SamlSite(app, provider)
    async with signing.browser() as browser:
        metadata = (await browser.client.get(f"{BEGIN}/metadata")).text
        published = re.search(r"X509Certificate>([^<]+)<", metadata)
        assert published is not None, metadata
        assert 'AuthnRequestsSigned="true"' in metadata
        assert 'use="encryption"' not in metadata
        ours = signing.addresses
        wants = {"validate.authnrequest": True, "certData": "".join(published[1].split())}
        provider.register(ours.entity_id, ours.acs, **wants)
        with_key = await browser.send_field(await response_by(browser))
    async with plain.browser() as browser:
        address = await browser.begin()
    assert "Signature=" not in address
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as client:
        reply = await client.get(address)
    said = re.search("no signature found on message", reply.text)
    return with_key.partition("=")[0], said[0] if said else reply.text


async def test_its_signed_responses_count_once_and_others_never(app: App, tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    write_key(tmp_path / "ours")
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
        signed = await ends_of_signed_requests(app, provider, tmp_path / "ours")

    assert ends == {
        "assertion": "token",
        "response": "token",
        "assertion and response": "token",
        "": "refused",
    }
    assert wrap == "refused=saml_response_invalid"
    assert (signed_in["name"], signed_in["role"]) == ("Ada", "admin")
    assert replayed == "refused=saml_response_used"
    assert signed == ("token", "no signature found on message")
