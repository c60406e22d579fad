"""Tests of signing in a terminal by a code that its user confirms in a browser (RFC 8628)."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from app_server.core.database import now
from app_server.sign_in.devices.models import DeviceSignIn
from app_server.sign_in.service import create_link
from app_server.users.models import Role, User
from app_server.users.service import create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem
from tests.support.signed_in import sign_in_async

ORIGIN = {"Origin": "http://localhost:3000"}
ROOT = "/api/v1/device-sign-ins"


@pytest.fixture
async def browser(app: App, owner: User) -> AsyncIterator[httpx.AsyncClient]:
    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    async with http_client(app.public, headers=ORIGIN) as client:
        await sign_in_async(client, token)
        yield client


async def begin(device: httpx.AsyncClient, **form: str) -> dict[str, Any]:
    reply = await device.post("/oauth/device/authorize", data=form)
    codes: dict[str, Any] = reply.raise_for_status().json()
    return codes


async def ask(device: httpx.AsyncClient, codes: dict[str, Any]) -> httpx.Response:
    return await device.post("/oauth/device/token", data={"device_code": codes["device_code"]})


async def change(app: App, **values: object) -> None:
    async with app.database.session() as session:
        await session.execute(update(DeviceSignIn).values(**values))


async def test_a_device_gets_one_key_after_its_user_has_allowed_the_code(
    app: App, anonymous: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    codes = await begin(anonymous, device_name="Ada's laptop", scope="work", expires_in_days="7")
    assert codes["verification_uri_complete"].endswith(f"/device?user_code={codes['user_code']}")
    waits = await ask(anonymous, codes)
    assert (waits.status_code, waits.json()["error"]) == (400, "authorization_pending")
    too_soon = await ask(anonymous, codes)
    assert too_soon.json()["error"] == "slow_down"
    typed = {"user_code": codes["user_code"].lower().replace("-", " ")}
    shown = (await browser.post(f"{ROOT}/find", json=typed)).json()
    assert (shown["name"], shown["scopes"], shown["expires_in_days"]) == ("Ada's laptop", ["read", "work"], 7)
    answered = await browser.post(f"{ROOT}/answer", json={**typed, "is_allowed": True})
    assert answered.status_code == 204
    token = (await ask(anonymous, codes)).raise_for_status()
    assert token.headers["cache-control"] == "no-store"
    assert (token.json()["token_type"], token.json()["scope"]) == ("Bearer", "read work")
    again = await ask(anonymous, codes)
    assert again.json()["error"] == "invalid_grant"
    assert_problem(await browser.post(f"{ROOT}/find", json=typed), 404, "device_code_not_found")

    headers = {"Authorization": f"Bearer {token.json()['access_token']}"}
    async with http_client(app.public, headers=headers) as device:
        assert (await device.get("/api/v1/users/me")).json()["name"] == "Owner"
        assert_problem(await device.post("/api/v1/secrets", json={}), 403, "permission_missing")
        [key] = (await browser.get("/api/v1/api-keys")).json()
        assert key["name"] == "Ada's laptop"
        entries = (await browser.get("/api/v1/audit-log")).json()["items"]
        assert {"device.allowed", "key.created"} <= {one["action"] for one in entries}
        assert next(one for one in entries if one["action"] == "key.created")["means"] == "device"
        gone = {"token": token.json()["access_token"]}
        assert (await anonymous.post("/oauth/revoke", data=gone)).status_code == 200
        assert_problem(await device.get("/api/v1/users/me"), 401, "not_authenticated")
        assert (await anonymous.post("/oauth/revoke", data=gone)).status_code == 200


async def test_refused_expired_and_disabled_sign_ins_give_no_key(
    app: App, anonymous: httpx.AsyncClient, browser: httpx.AsyncClient, owner: User
) -> None:
    codes = await begin(anonymous)
    answer = {"user_code": codes["user_code"], "is_allowed": False}
    assert (await browser.post(f"{ROOT}/answer", json=answer)).status_code == 204
    again = await browser.post(f"{ROOT}/answer", json={**answer, "is_allowed": True})
    assert_problem(again, 404, "device_code_not_found")
    assert (await ask(anonymous, codes)).json()["error"] == "access_denied"

    late = await begin(anonymous)
    await change(app, expires_at=now() - timedelta(seconds=1))
    typed = {"user_code": late["user_code"]}
    assert_problem(await browser.post(f"{ROOT}/find", json=typed), 404, "device_code_not_found")
    assert (await ask(anonymous, late)).json()["error"] == "expired_token"

    of_disabled = await begin(anonymous)
    answer = {"user_code": of_disabled["user_code"], "is_allowed": True}
    assert (await browser.post(f"{ROOT}/answer", json=answer)).status_code == 204
    async with app.database.session() as session:
        await session.execute(update(User).values(disabled_at=now()))
    assert (await ask(anonymous, of_disabled)).json()["error"] == "access_denied"


async def test_only_a_browser_session_with_the_asked_rights_can_allow(
    app: App, anonymous: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    codes = await begin(anonymous, scope="work administer")
    answer = {"user_code": codes["user_code"], "is_allowed": True}
    assert_problem(await client.post(f"{ROOT}/answer", json=answer), 403, "browser_session_needed")
    assert_problem(await anonymous.post(f"{ROOT}/answer", json=answer), 401, "not_authenticated")
    async with app.database.session() as session:
        member = await create_user(session, name="Ada", role=Role.MEMBER)
        token = await create_link(session, member.id)
    async with http_client(app.public, headers=ORIGIN) as browser:
        await sign_in_async(browser, token)
        shown = (await browser.post(f"{ROOT}/find", json={"user_code": codes["user_code"]})).json()
        assert shown["missing_scopes"] == ["administer"]
        assert_problem(await browser.post(f"{ROOT}/answer", json=answer), 403, "stronger_key")


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"scope": "everything"}, "invalid_scope"),
        ({"expires_in_days": "366"}, "invalid_request"),
        ({"device_name": "a" * 101}, "invalid_request"),
        ({"device_name": "red\x1b[31m"}, "invalid_request"),
    ],
)
async def test_wrong_requests_are_refused(
    anonymous: httpx.AsyncClient, form: dict[str, str], code: str
) -> None:
    reply = await anonymous.post("/oauth/device/authorize", data=form)
    assert_problem(reply, 400, code)
    assert reply.json()["error"] == code


async def test_other_grants_and_missing_codes_are_refused(anonymous: httpx.AsyncClient) -> None:
    other = await anonymous.post("/oauth/device/token", data={"grant_type": "password", "device_code": "x"})
    assert other.json()["error"] == "unsupported_grant_type"
    assert (await anonymous.post("/oauth/device/token")).json()["error"] == "invalid_request"
    assert (await anonymous.post("/oauth/revoke")).json()["error"] == "invalid_request"


async def test_a_client_of_openhands_begins_with_an_empty_object(anonymous: httpx.AsyncClient) -> None:
    reply = await anonymous.post("/oauth/device/authorize", json={})
    assert reply.json()["interval"] == 5


async def test_codes_cannot_be_guessed_or_asked_for_without_end(
    anonymous: httpx.AsyncClient, browser: httpx.AsyncClient
) -> None:
    async def until_throttled(send: Callable[[], Any], expected: int) -> int:
        for count in range(30):
            reply = await send()
            if reply.status_code == 429:
                assert_problem(reply, 429, "sign_in_throttled")
                return count
            assert reply.status_code == expected
        return 30

    assert (
        await until_throttled(lambda: browser.post(f"{ROOT}/find", json={"user_code": "BCDFGHJK"}), 404) == 10
    )
    assert await until_throttled(lambda: anonymous.post("/oauth/device/authorize"), 200) == 20
