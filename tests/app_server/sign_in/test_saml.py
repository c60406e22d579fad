"""Tests of signing in with a SAML provider, with the requests that browsers send."""

from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from app_server.core.config import Config
from app_server.doctor.checks import examine
from app_server.doctor.findings import Finding
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sign_in.saml_site import BEGIN, SamlSite
from tests.app_server.sign_in.test_oidc import audited
from tests.support.saml_provider import DISPLAY_NAME, Person, SamlIdentityProvider

pytestmark = pytest.mark.xmlsec1

OVERVIEW = "/api/v1/administration/sign-in-providers"
ADA = Person("ada", {"name": ["Ada"], "mail": ["ada@example.org"], "groups": ["staff", "admins"]})


@pytest.fixture
def provider(tmp_path: Path) -> SamlIdentityProvider:
    return SamlIdentityProvider(tmp_path)


async def test_a_person_who_comes_again_is_the_same_user(app: App, provider: SamlIdentityProvider) -> None:
    site = SamlSite(app, provider, roles={"admins": "admin"})
    async with site.browser() as first, site.browser() as second:
        offered = (await first.client.get("/api/v1/sign-in/providers")).json()
        signed_in = await first.sign_in(ADA, signs=("assertion",))
        again = await second.sign_in(ADA, signs=("response",))
        third = await second.sign_in(ADA, signs=("response", "assertion"))

    assert offered == [{"name": "acme", "title": "Acme", "url": BEGIN}]
    assert (signed_in["name"], signed_in["role"]) == ("Ada", "admin")
    assert again["id"] == third["id"] == signed_in["id"]


async def test_groups_and_domains_decide_and_the_audit_log_tells(
    app: App, provider: SamlIdentityProvider
) -> None:
    roles = {"admins": "admin", "guests": "viewer"}
    site = SamlSite(app, provider, allowed_domains=["example.org"], roles=roles, default_role=None)
    ends = []
    async with site.browser() as browser:
        mail = {"mail": ["ada@example.org"]}
        ends.append((await browser.sign_in(Person("ada", {**mail, "groups": ["guests"]})))["role"])
        ends.append(await browser.end_of(Person("ada", {**mail, "groups": ["others"]})))
        ends.append(await browser.end_of(Person("eve", {"mail": ["eve@example.com"]})))

    assert ends == ["viewer", "refused=saml_no_role", "refused=saml_domain_not_allowed"]
    told = await audited(app, expected=4)
    assert [(one.action, one.means) for one in told] == [
        ("member.created", "provider"),
        ("sign_in.succeeded", "provider"),
        ("sign_in.refused", "provider"),
        ("sign_in.refused", "provider"),
    ]
    assert [one.details for one in told[2:]] == [
        {"code": code, "provider": "acme"} for code in ("saml_no_role", "saml_domain_not_allowed")
    ]


async def test_only_configured_attributes_are_read(app: App, provider: SamlIdentityProvider) -> None:
    site = SamlSite(
        app,
        provider,
        name_attribute=DISPLAY_NAME,
        email_attribute=None,
        groups_attribute="roles",
        roles={"admins": "admin"},
        subject_attribute="employee",
    )
    told = {**ADA.attributes, "employee": ["17"], "displayName": ["A. Lovelace"]}
    async with site.browser() as browser:
        signed_in = await browser.sign_in(Person("anything", told))
        again = await browser.sign_in(Person("another", told))
        missing = await browser.end_of(ADA)

    assert (signed_in["name"], signed_in["role"]) == ("A. Lovelace", "member")
    assert again["id"] == signed_in["id"]
    assert missing == "refused=saml_response_invalid"


async def test_an_account_is_connected_used_and_disconnected(
    app: App, provider: SamlIdentityProvider, client: httpx.AsyncClient, owner: User
) -> None:
    site = SamlSite(app, provider)
    headers = {"Authorization": client.headers["Authorization"]}
    async with site.browser() as browser:
        begun = await browser.client.post("/api/v1/identities/acme", headers=headers)
        metadata = await browser.client.get(f"{BEGIN}/metadata")
        connected = await browser.send(
            provider.answer(begun.raise_for_status().json()["url"], metadata.text, ADA)
        )
        listed = (await browser.client.get("/api/v1/identities", headers=headers)).json()
        signed_in = await browser.sign_in(ADA)
        gone = await browser.client.delete("/api/v1/identities/acme", headers=headers)

    assert connected == "connected=acme"
    assert [(one["provider"], one["email"]) for one in listed] == [("acme", "ada@example.org")]
    assert signed_in["id"] == owner.id.hex
    assert gone.status_code == 204


async def test_metadata_come_by_address_and_a_new_key_is_found(
    app: App, provider: SamlIdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = SamlSite(app, provider, metadata_url=f"{provider.url}/metadata")
    async with site.browser() as browser:
        absent = await browser.client.get(BEGIN)
        with provider.listening(lambda: ""):
            before = await browser.sign_in(ADA)
            provider.renew_key()
            too_soon = await browser.end_of(ADA)
            monkeypatch.setattr("app_server.sign_in.saml.providers.MIN_AGE_SECONDS", 0.0)
            after = await browser.sign_in(ADA)

    assert absent.headers["location"].endswith("#refused=saml_provider_unreachable")
    assert too_soon == "refused=saml_response_invalid"
    assert after["id"] == before["id"]


async def test_what_is_missing_is_told(
    app: App, provider: SamlIdentityProvider, client: httpx.AsyncClient
) -> None:
    headers = {"Authorization": client.headers["Authorization"]}
    without_program = SamlSite(app, provider, find_program=lambda: None)
    other = SamlSite(app, provider, entity_id="https://other.example.org")
    async with without_program.browser() as browser:
        no_program = (await browser.client.get(BEGIN)).headers["location"]
        unknown = await browser.client.get("/api/v1/sign-in/saml/other")
        metadata = await browser.client.get(f"{BEGIN}/metadata")
        overview = (await browser.client.get(OVERVIEW, headers=headers)).json()
    async with other.browser() as browser:
        not_in_metadata = (await browser.client.get(BEGIN)).headers["location"]
    async with app.database.read() as session:
        users = await session.scalar(select(func.count()).select_from(User).where(User.name == "Ada"))

    assert no_program.endswith("/sign-in#refused=saml_xmlsec1_missing")
    assert not_in_metadata.endswith("/sign-in#refused=saml_provider_unreachable")
    assert_problem(unknown, 404, "saml_provider_not_found")
    assert metadata.headers["content-type"].startswith("application/samlmetadata+xml")
    assert f"{without_program.config.base_url}{BEGIN}/acs" in metadata.text
    assert users == 0
    (told,) = overview
    assert (told["protocol"], told["problem"]["code"]) == ("saml", "saml_xmlsec1_missing")
    assert [one["purpose"] for one in told["addresses"]] == ["metadata", "acs"]


async def test_the_doctor_looks_for_the_program(
    provider: SamlIdentityProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(home=tmp_path, sandbox="process", saml_providers=[provider.settings()])

    async def finding() -> Finding:
        async for one in examine(config):
            if one.name == "saml":
                return one
        raise AssertionError("there is no such finding")

    good = await finding()
    monkeypatch.setenv("PATH", str(tmp_path))
    bad = await finding()

    assert (good.state, bad.state, bad.fix) == ("ok", "error", "apt-get install xmlsec1")
