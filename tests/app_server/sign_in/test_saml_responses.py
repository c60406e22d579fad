"""Tests of responses of a SAML provider: which are accepted, and which forged ones are refused."""

import logging
import re
from collections.abc import Callable
from pathlib import Path
from time import time

import pytest
from saml2.saml import NAMEID_FORMAT_TRANSIENT

from tests.app_server.conftest import App
from tests.app_server.sign_in.saml_site import SamlSite
from tests.support.saml_provider import Person, SamlIdentityProvider

pytestmark = pytest.mark.xmlsec1

INVALID = "refused=saml_response_invalid"
ASSERTION = re.compile(r"<ns1:Assertion .*</ns1:Assertion>", re.DOTALL)
SIGNATURE = re.compile(r"<ns2:Signature .*</ns2:Signature>", re.DOTALL)


@pytest.fixture
def provider(tmp_path: Path) -> SamlIdentityProvider:
    return SamlIdentityProvider(tmp_path)


def found(pattern: re.Pattern[str], xml: str) -> str:
    match = pattern.search(xml)
    assert match is not None, xml
    return match[0]


def forged(xml: str) -> str:
    """Returns a forged copy of the response's assertion: about another person, with another id and without
    the signature.
    """
    unsigned = SIGNATURE.sub("", found(ASSERTION, xml))
    return unsigned.replace(">ada<", ">eve<").replace(' ID="', ' ID="forged-')


def beside(xml: str) -> str:
    """Returns the response with a forged assertion before the signed one."""
    return xml.replace("<ns1:Assertion ", f"{forged(xml)}<ns1:Assertion ", 1)


def after(xml: str) -> str:
    return xml.replace("</ns1:Assertion>", f"</ns1:Assertion>{forged(xml)}", 1)


def around(xml: str) -> str:
    """Returns the response with a forged assertion that contains the signed one in its element Advice."""
    advice = f"</ns1:Conditions><ns1:Advice>{found(ASSERTION, xml)}</ns1:Advice>"
    return ASSERTION.sub(lambda _: forged(xml).replace("</ns1:Conditions>", advice), xml)


def in_extensions(xml: str) -> str:
    """Returns the response with the signed assertion in its element Extensions, and a forged assertion in
    the usual place.
    """
    kept = f"<ns0:Extensions>{found(ASSERTION, xml)}</ns0:Extensions><ns0:Status>"
    return ASSERTION.sub(lambda _: forged(xml), xml).replace("<ns0:Status>", kept)


def with_moved_signature(xml: str) -> str:
    """Returns the response with a forged assertion. The forged assertion has the signature, and the
    signature contains the signed assertion in an element Object.
    """
    signature, original = found(SIGNATURE, xml), SIGNATURE.sub("", found(ASSERTION, xml))
    moved = signature.replace("</ns2:Signature>", f"<ns2:Object>{original}</ns2:Object></ns2:Signature>")
    changed = forged(xml).replace("</ns1:Issuer>", f"</ns1:Issuer>{moved}", 1)
    return ASSERTION.sub(lambda _: changed, xml)


def with_the_same_id(xml: str) -> str:
    """Returns the response with a forged assertion before the signed one. The forged assertion has the id
    and the signature of the signed one.
    """
    same = found(ASSERTION, xml).replace(">ada<", ">eve<")
    return xml.replace("<ns1:Assertion ", f"{same}<ns1:Assertion ", 1)


def changed(xml: str) -> str:
    return xml.replace(">ada<", ">eve<")


def unsigned(xml: str) -> str:
    return SIGNATURE.sub("", xml)


def with_weak_digest(xml: str) -> str:
    return xml.replace("http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1")


def with_document_type(xml: str) -> str:
    return xml.replace("?>", '?><!DOCTYPE x [<!ENTITY who "eve">]>', 1).replace(">ada<", ">&who;<")


def in_another_encoding(xml: str) -> str:
    return xml.replace('version="1.0"', 'version="1.0" encoding="UTF-7"', 1)


async def test_a_forged_response_is_refused(app: App, provider: SamlIdentityProvider) -> None:
    attacks: tuple[Callable[[str], str], ...] = (
        beside,
        after,
        around,
        in_extensions,
        with_moved_signature,
        with_the_same_id,
        changed,
        unsigned,
        with_weak_digest,
        with_document_type,
        in_another_encoding,
        lambda _: "no XML",
    )
    ends = {}
    async with SamlSite(app, provider).browser() as browser:
        xml = await browser.answered()
        for attack in attacks:
            assert attack(xml) != xml
            ends[attack.__name__] = await browser.send(attack(xml))
            await browser.begin()

    assert set(ends.values()) == {INVALID}, ends


async def test_a_signed_response_cannot_be_wrapped(app: App, provider: SamlIdentityProvider) -> None:
    """A forged response has the signature, and the signature contains the signed response in an element
    Object. The forged response is refused.
    """
    async with SamlSite(app, provider).browser() as browser:
        xml = await browser.answered(signs=("response",))
        signature, original = found(SIGNATURE, xml), SIGNATURE.sub("", xml).partition("?>")[2]
        moved = signature.replace("</ns2:Signature>", f"<ns2:Object>{original}</ns2:Object></ns2:Signature>")
        outer = changed(xml).replace(' ID="', ' ID="forged-', 1)
        end = await browser.send(SIGNATURE.sub(lambda _: moved, outer))

    assert end == INVALID


async def test_a_response_counts_for_a_time_with_a_leeway(
    app: App, provider: SamlIdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    lifetime = provider.lifetime_minutes * 60
    ends = {}
    async with SamlSite(app, provider).browser() as browser:
        for shift in (lifetime + 30, lifetime + 120, -30, -120):
            xml = await browser.answered()
            with monkeypatch.context() as clock:
                clock.setattr("saml2.time_util.utc_now", lambda: int(time()) + shift)  # noqa: B023
                ends[shift] = (await browser.send(xml)).partition("=")[0]

    assert list(ends.values()) == ["token", "refused", "token", "refused"]


async def test_what_a_response_is_for(app: App, provider: SamlIdentityProvider) -> None:
    site = SamlSite(app, provider)
    other = "http://localhost:1/api/v1/sign-in/saml/acme"
    ends = {}
    async with site.browser() as browser:
        ends["audience"] = await browser.end_of(sp_entity_id=f"{other}/metadata")
        ends["recipient"] = await browser.end_of(destination=f"{other}/acs")
        ends["unsolicited"] = await browser.end_of(in_response_to=None)
        ends["transient"] = await browser.end_of(Person("x", name_id_format=NAMEID_FORMAT_TRANSIENT))
        ends["another request"] = await browser.end_of(in_response_to="id-another")

    assert ends.pop("another request") == "refused=saml_attempt_expired"
    assert set(ends.values()) == {INVALID}, ends


@pytest.mark.both_databases
async def test_an_assertion_counts_once_and_in_one_browser(app: App, provider: SamlIdentityProvider) -> None:
    site = SamlSite(app, provider)
    async with site.browser() as ada, site.browser() as eve:
        stolen = await eve.send(await ada.answered())
        xml = await ada.answered()
        first = await ada.send(xml)
        replayed = await ada.send(xml)
        await ada.begin()
        in_a_new_attempt = await ada.send(xml)

    assert first.startswith("token=")
    assert stolen == "refused=saml_attempt_expired"
    assert replayed == "refused=saml_attempt_expired"
    assert in_a_new_attempt == "refused=saml_response_used"


async def test_the_log_tells_why_but_not_who(
    app: App, provider: SamlIdentityProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with SamlSite(app, provider).browser() as browser:
        xml = await browser.answered(Person("secret-person"))
        await browser.send(xml.replace("secret-person", "secret-other"))

    assert "a response of acme is refused: " in caplog.text
    assert "secret-" not in caplog.text
