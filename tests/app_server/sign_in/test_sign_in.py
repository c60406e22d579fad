import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import select, update

from app_server.core.config import Config
from app_server.core.database import now
from app_server.main import WithState
from app_server.sign_in.service import create_link
from app_server.users.models import SignInLink, User, WebSession
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.support.apps import public_app
from tests.support.signed_in import sign_in_async

ORIGIN = {"Origin": "http://localhost:3000"}


@pytest.fixture
async def token(app: App, owner: User) -> str:
    async with app.database.session() as session:
        return await create_link(session, owner.id)


@pytest.fixture
async def browser(app: App, token: str) -> AsyncIterator[httpx.AsyncClient]:
    """Yields the HTTP client of a signed-in browser: it sends the cookie, the page proof (a header that
    belongs to the cookie), and the Origin header that browsers send.
    """
    async with http_client(app.public, headers=ORIGIN) as client:
        await sign_in_async(client, token)
        yield client


async def test_a_link_signs_in_its_user(anonymous: httpx.AsyncClient, token: str, owner: User) -> None:
    reply = await anonymous.post("/api/v1/sign-in/link", json={"token": token}, headers=ORIGIN)
    proof = reply.json().pop("page_proof")
    assert reply.json() == {"id": owner.id.hex, "name": "Owner", "role": "owner", "page_proof": proof} | {
        "administers_installation": True,
        "may_choose_password": False,
    }
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    me = await anonymous.get("/api/v1/users/me", headers={"X-Slipway-Proof": proof})
    who = {"id": owner.id.hex, "name": "Owner", "role": "owner"}
    assert me.json() == {**me.json(), **who}


async def test_the_cookie_is_secure_behind_https(app: App, token: str) -> None:
    config = app.config.model_copy(update={"public_url": "https://slipway.example.org"})
    secure = WithState(public_app(config), {**app.state, "config": config})
    async with http_client(secure) as client:
        reply = await client.post("/api/v1/sign-in/link", json={"token": token})
    assert "Secure" in reply.headers["set-cookie"]


async def test_a_link_works_once_even_for_two_at_once(app: App, token: str) -> None:
    async def sign_in() -> httpx.Response:
        async with http_client(app.public) as client:
            return await client.post("/api/v1/sign-in/link", json={"token": token})

    replies = sorted(
        await asyncio.gather(*(sign_in() for _ in range(8))), key=lambda reply: reply.status_code
    )
    assert [reply.status_code for reply in replies] == [200] + [410] * 7
    for refused in replies[1:]:
        assert_problem(refused, 410, "sign_in_link_used")
        assert "set-cookie" not in refused.headers


async def test_a_link_expires(app: App, anonymous: httpx.AsyncClient, token: str) -> None:
    async with app.database.session() as session:
        await session.execute(update(SignInLink).values(expires_at=now() - timedelta(seconds=1)))
    reply = await anonymous.post("/api/v1/sign-in/link", json={"token": token})
    assert_problem(reply, 410, "sign_in_link_expired")
    assert "slipway sign-in-link" in reply.json()["fix"]


async def test_a_made_up_link_is_refused(anonymous: httpx.AsyncClient) -> None:
    reply = await anonymous.post("/api/v1/sign-in/link", json={"token": "made-up"})
    assert_problem(reply, 400, "sign_in_link_invalid")


async def test_signing_out_ends_the_session_for_good(browser: httpx.AsyncClient, app: App) -> None:
    stolen = browser.cookies["slipway_session"]
    assert (await browser.delete("/api/v1/sign-in/session")).status_code == 204
    assert "slipway_session" not in browser.cookies
    proof = {"X-Slipway-Proof": browser.headers["X-Slipway-Proof"]}
    async with http_client(app.public, cookies={"slipway_session": stolen}, headers=proof) as thief:
        assert_problem(await thief.get("/api/v1/users/me"), 401, "not_authenticated")


async def test_an_expired_session_must_sign_in_again(browser: httpx.AsyncClient, app: App) -> None:
    async with app.database.session() as session:
        await session.execute(update(WebSession).values(expires_at=now() - timedelta(seconds=1)))
    assert_problem(await browser.get("/api/v1/users/me"), 401, "not_authenticated")


async def test_use_prolongs_a_session(browser: httpx.AsyncClient, app: App) -> None:
    async with app.database.session() as session:
        await session.execute(update(WebSession).values(expires_at=now() + timedelta(days=1)))
    assert (await browser.get("/api/v1/users/me")).status_code == 200

    async def is_prolonged() -> bool:
        async with app.database.read() as session:
            web_session = (await session.scalars(select(WebSession))).one()
        return web_session.expires_at > now() + timedelta(days=29)

    await eventually(is_prolonged)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost:8080", "null", "https://[", "http://localhost"]
)
async def test_a_foreign_page_cannot_act_for_a_signed_in_user(
    browser: httpx.AsyncClient, origin: str
) -> None:
    reply = await browser.post("/api/v1/api-keys", json={"name": "x"}, headers={"Origin": origin})
    assert_problem(reply, 403, "origin_not_allowed")


async def test_a_cookie_without_an_origin_changes_nothing(app: App, browser: httpx.AsyncClient) -> None:
    proof = {"X-Slipway-Proof": browser.headers["X-Slipway-Proof"]}
    async with http_client(app.public, cookies=dict(browser.cookies), headers=proof) as bare:
        assert (await bare.get("/api/v1/users/me")).status_code == 200
        reply = await bare.post("/api/v1/api-keys", json={"name": "x"})
    assert_problem(reply, 403, "origin_not_allowed")


async def test_our_own_pages_may_change_things(browser: httpx.AsyncClient) -> None:
    assert (await browser.post("/api/v1/api-keys", json={"name": "x"})).status_code == 201


async def test_an_api_key_needs_no_origin(client: httpx.AsyncClient) -> None:
    reply = await client.post("/api/v1/api-keys", json={"name": "x"}, headers={"Origin": "http://a.example"})
    assert reply.status_code == 201


async def test_a_token_is_never_stored_in_clear(app: App, token: str) -> None:
    async with app.database.read() as session:
        link = (await session.scalars(select(SignInLink))).one()
    assert token not in link.token_hash


def test_config_hides_its_secrets() -> None:
    assert "hunter2" not in repr(Config(database_url=SecretStr("postgresql://u:hunter2@h/db")))
