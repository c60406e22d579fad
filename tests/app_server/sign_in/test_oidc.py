"""Tests of signing in with a certified OpenID Connect provider, with the requests that browsers send."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx
import pytest
import uvicorn
from pydantic import SecretStr
from sqlalchemy import delete, func, select, update

from app_server.audit.models import AuditEntry
from app_server.core.config import Config
from app_server.core.database import now
from app_server.core.identity_providers import IdentityProvider
from app_server.main import WithState
from app_server.sign_in.oidc.discovery import Providers
from app_server.users.models import Role, User, WebSession
from app_server.users.provisioning import ProvisionedPerson, user_name_key
from app_server.users.service import create_user
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.apps import public_app
from tests.support.identity_provider import LOGIN_COOKIE, SECRET, CertifiedProvider
from tests.support.ports import free_port

pytestmark = pytest.mark.processes

BEGIN = "/api/v1/sign-in/oidc/acme"


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    return Config(
        home=tmp_path / "home", database_url=SecretStr(database_url), sandbox="process", port=free_port()
    )


@pytest.fixture
def provider(config: Config, tmp_path: Path) -> Iterator[CertifiedProvider]:
    certified = CertifiedProvider(tmp_path)
    with certified.running(config.base_url):
        yield certified


class Site:
    """An app server with this OpenID Connect provider, and browsers of people who sign in there."""

    def __init__(self, app: App, provider: CertifiedProvider, **settings: Any) -> None:
        self.app = app
        self.provider = provider
        told = IdentityProvider.model_validate(provider.settings(**settings))
        self.config = app.config.model_copy(update={"oidc_providers": [told]})
        providers = Providers([told], app.state["http"], app.state["guard"])
        state = {**app.state, "config": self.config, "identity_providers": providers}
        self.public = WithState(public_app(self.config), state)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Site"]:
        with socket.socket(proto=socket.IPPROTO_TCP) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self.config.port))
            listener.listen()
            server = uvicorn.Server(uvicorn.Config(self.public, lifespan="off", log_config=None))
            task = asyncio.create_task(server.serve([listener]))
            yield self
            server.should_exit = True
            await task

    @asynccontextmanager
    async def browser(self, login: str = "ada.admins.example.org") -> AsyncIterator["Browser"]:
        async with httpx.AsyncClient(
            base_url=self.config.base_url, headers={"Origin": self.config.base_url}, trust_env=False
        ) as client:
            client.cookies.set(LOGIN_COOKIE, login, domain="localhost.local")
            yield Browser(client)


class Browser:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def go(
        self, is_end: Callable[[str], bool] = lambda url: "/sign-in#" in url, start: str = BEGIN
    ) -> str:
        """Begins a sign-in and follows the redirects until `is_end` is true for a URL. Returns this URL."""
        url = str(self.client.base_url.join(start))
        for _ in range(12):
            reply = await self.client.get(url)
            assert reply.is_redirect, (url, reply.status_code, reply.text)
            url = str(httpx.URL(url).join(reply.headers["location"]))
            if is_end(url):
                return url
        raise AssertionError(f"still on the way at {url}")

    async def sign_in(self) -> dict[str, Any]:
        """Signs in, and returns the signed-in user."""
        token = (await self.go()).partition("#token=")[2]
        assert token
        reply = await self.client.post("/api/v1/sign-in/link", json={"token": token})
        found: dict[str, Any] = reply.raise_for_status().json()
        self.client.headers["X-Slipway-Proof"] = found["page_proof"]
        return found

    async def me(self) -> httpx.Response:
        return await self.client.get("/api/v1/users/me")


async def audited(app: App, *, expected: int) -> list[AuditEntry]:
    """Waits until the audit log has this number of entries, as refusals are recorded in the background.
    Returns all entries.
    """

    async def entries() -> list[AuditEntry]:
        async with app.database.read() as session:
            return list(await session.scalars(select(AuditEntry).order_by(AuditEntry.id)))

    async def are_there() -> bool:
        return len(await entries()) >= expected

    await eventually(are_there)
    return await entries()


def refusal_in(url: str) -> str:
    return url.partition("#refused=")[2]


async def test_a_person_who_comes_again_is_the_same_user(app: App, provider: CertifiedProvider) -> None:
    site = Site(app, provider, roles={"admins": "admin"})
    async with site.listening(), site.browser() as first, site.browser() as second:
        offered = (await first.client.get("/api/v1/sign-in/providers")).json()
        signed_in, again = await first.sign_in(), await second.sign_in()
        me = await first.me()

    assert offered == [{"name": "acme", "title": "Acme", "url": BEGIN}]
    assert (signed_in["name"], signed_in["role"]) == ("Ada", "admin")
    assert again["id"] == signed_in["id"]
    assert me.json()["name"] == "Ada"


async def test_first_sign_ins_of_one_person_at_once_make_one_account(
    app: App, provider: CertifiedProvider
) -> None:
    site = Site(app, provider)
    async with site.listening(), site.browser() as one, site.browser() as other:
        both = await asyncio.gather(one.sign_in(), other.sign_in())
        async with app.database.read() as session:
            accounts = await session.scalar(select(func.count()).select_from(User).where(User.name == "Ada"))

    assert both[0]["id"] == both[1]["id"]
    assert accounts == 1


async def test_groups_decide_on_the_role_at_each_sign_in(app: App, provider: CertifiedProvider) -> None:
    settings = {"roles": {"admins": "admin", "guests": "viewer"}, "default_role": None}
    site = Site(app, provider, **settings)
    async with site.listening():
        roles = []
        for group in ("admins", "guests"):
            async with site.browser(f"ada.{group}.example.org") as browser:
                roles.append((await browser.sign_in())["role"])
        async with site.browser("ada.others.example.org") as browser:
            refused = refusal_in(await browser.go())

    assert roles == ["admin", "viewer"]
    assert refused == "oidc_no_role"
    told = await audited(app, expected=5)
    assert [(one.action, one.means) for one in told] == [
        ("member.created", "provider"),
        ("sign_in.succeeded", "provider"),
        ("member.created", "provider"),
        ("sign_in.succeeded", "provider"),
        ("sign_in.refused", "provider"),
    ]
    assert told[-1].details == {"code": "oidc_no_role", "provider": "acme"}


async def test_only_allowed_domains_and_enabled_accounts_come_in(
    app: App, provider: CertifiedProvider
) -> None:
    site = Site(app, provider, allowed_domains=["example.org"])
    async with site.listening(), site.browser() as insider, site.browser("eve.x.example.com") as outsider:
        await insider.sign_in()
        async with app.database.session() as session:
            await session.execute(update(User).where(User.name == "Ada").values(disabled_at=now()))
        async with site.browser() as disabled:
            refusals = [refusal_in(await browser.go()) for browser in (outsider, disabled)]

    assert refusals == ["oidc_domain_not_allowed", "account_disabled"]


async def test_the_first_sign_in_leads_to_the_account_that_scim_has_made(
    app: App, provider: CertifiedProvider
) -> None:
    async with app.database.session() as session:
        ada = await create_user(session, name="Ada of the directory", role=Role.VIEWER)
        name = "Ada@Example.org"
        session.add(
            ProvisionedPerson(
                user_id=ada.id, user_name=name, user_name_key=user_name_key(name), attributes={}
            )
        )
    async with Site(app, provider).listening() as site, site.browser() as stranger:
        await stranger.sign_in()
        other = (await stranger.me()).json()["id"]
    async with app.database.session() as session:
        await session.execute(delete(User).where(User.id == UUID(other)))
    async with Site(app, provider, knows_scim_people=True).listening() as site, site.browser() as browser:
        await browser.sign_in()
        await browser.sign_in()
        me = (await browser.me()).json()

    assert other != ada.id.hex, "without the setting, an address alone proves nothing"
    assert (me["id"], me["role"]) == (ada.id.hex, "viewer")


async def test_a_sign_out_at_the_provider_is_one_here(app: App, provider: CertifiedProvider) -> None:
    site = Site(app, provider)
    async with site.listening(), site.browser() as leaving, site.browser() as staying:
        await leaving.sign_in()
        await staying.sign_in()
        page = await leaving.client.get(f"{provider.issuer}/session/end")
        form = {"logout": "yes", "xsrf": page.text.partition('name="xsrf" value="')[2].partition('"')[0]}
        ended = await leaving.client.post(f"{provider.issuer}/session/end/confirm", data=form)
        assert ended.is_redirect, ended.text

        async def is_signed_out() -> bool:
            return (await leaving.me()).status_code == 401

        await eventually(is_signed_out)
        assert (await staying.me()).status_code == 200, "another sign-in at the provider"


async def test_a_state_counts_once_and_in_one_browser(app: App, provider: CertifiedProvider) -> None:
    site = Site(app, provider)

    def is_callback(url: str) -> bool:
        return urlsplit(url).path.endswith("/callback")

    async with site.listening(), site.browser() as victim, site.browser() as attacker:
        callback = await attacker.go(is_callback)
        in_another_browser = (await victim.client.get(callback)).headers["location"]
        wrong_state = callback.replace(parse_qs(urlsplit(callback).query)["state"][0], "x" * 43)
        other_state = (await attacker.client.get(wrong_state)).headers["location"]
        replayed = (await attacker.client.get(callback)).headers["location"]

    assert {refusal_in(url) for url in (in_another_browser, other_state, replayed)} == {
        "oidc_attempt_expired"
    }


async def test_what_the_provider_refuses_is_explained_and_its_absence_too(
    app: App, provider: CertifiedProvider
) -> None:
    site = Site(app, provider)
    without = Site(app, provider, issuer=f"http://localhost:{free_port()}")
    async with site.listening(), site.browser() as browser:
        provider.refuse_next()
        refused = refusal_in(await browser.go())
        unknown = await browser.client.get("/api/v1/sign-in/oidc/other")
    async with without.listening(), without.browser() as browser:
        absent = refusal_in(await browser.go())

    assert (refused, absent) == ("oidc_refused_by_provider", "oidc_provider_unreachable")
    assert_problem(unknown, 404, "oidc_provider_not_found")


async def test_the_browser_is_shown_no_secret(app: App, provider: CertifiedProvider) -> None:
    site = Site(app, provider)
    async with site.listening(), site.browser() as browser:
        begun = await browser.client.get(BEGIN)
        query = parse_qs(urlsplit(begun.headers["location"]).query)
        async with app.database.read() as session:
            sessions = await session.scalar(select(func.count()).select_from(WebSession))

    assert query["code_challenge_method"] == ["S256"]
    assert {"state", "nonce", "code_challenge"} <= query.keys()
    assert SECRET not in str(begun.headers)
    cookie = begun.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert query["nonce"][0] not in cookie
    assert sessions == 0


async def test_an_account_is_connected_used_and_disconnected(
    app: App, provider: CertifiedProvider, client: httpx.AsyncClient, owner: User
) -> None:
    site = Site(app, provider, roles={"admins": "admin"}, default_role=None)
    key = client.headers["Authorization"]

    async def connect(browser: Browser) -> str:
        reply = await browser.client.post("/api/v1/identities/acme", headers={"Authorization": key})
        return await browser.go(
            lambda url: "/settings/browsers#" in url, reply.raise_for_status().json()["url"]
        )

    async with site.listening(), site.browser("ada.others.example.org") as browser:
        ends = [await connect(browser), await connect(browser)]
        listed = (await browser.client.get("/api/v1/identities", headers={"Authorization": key})).json()
        signed_in = await browser.sign_in()
        gone = await browser.client.delete("/api/v1/identities/acme", headers={"Authorization": key})
        again = await browser.client.delete("/api/v1/identities/acme", headers={"Authorization": key})
        refused = refusal_in(await browser.go())

    assert {url.partition("#")[2] for url in ends} == {"connected=acme"}
    assert [(one["provider"], one["email"]) for one in listed] == [("acme", "ada@example.org")]
    assert signed_in["id"] == owner.id.hex, "the owner needs no group"
    assert gone.status_code == 204
    assert_problem(again, 404, "identity_not_found")
    assert refused == "oidc_no_role"


async def test_a_person_of_the_provider_belongs_to_one_account(
    app: App, provider: CertifiedProvider, client: httpx.AsyncClient
) -> None:
    site = Site(app, provider)
    headers = {"Authorization": client.headers["Authorization"]}
    async with site.listening(), site.browser() as ada, site.browser("bob.x.example.org") as bob:
        await ada.sign_in()

        async def connect(browser: Browser) -> str:
            reply = await browser.client.post("/api/v1/identities/acme", headers=headers)
            url = reply.raise_for_status().json()["url"]
            return await browser.go(lambda url: "/settings/browsers#" in url, url)

        taken = refusal_in(await connect(ada))
        first = await connect(bob)
        async with site.browser("cleo.x.example.org") as cleo:
            second = refusal_in(await connect(cleo))

    assert taken == "oidc_identity_taken"
    assert first.endswith("#connected=acme")
    assert second == "oidc_already_connected"
