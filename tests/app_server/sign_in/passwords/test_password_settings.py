"""Tests of a user's password settings: the user sets, changes and removes a password, and adds an
authenticator app.
"""

import asyncio
import time
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app_server.sign_in.passwords import policy, totp
from app_server.sign_in.passwords.models import PasswordLogin, RecoveryCode, TotpSecret
from app_server.users.models import Role, User
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sign_in.passwords.conftest import OTHER, PASSWORD, Site, enrol, set_password


async def settings_of(browser: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await browser.get("/api/v1/password")).raise_for_status().json()
    return found


async def test_an_invited_person_is_offered_a_password_at_the_first_sign_in(
    site: Site, client: httpx.AsyncClient
) -> None:
    invited = (await client.post("/api/v1/people", json={"name": "Ada Lovelace"})).json()
    one = f"/api/v1/people/{invited['person']['id']}"
    again = (await client.post(f"{one}/sign-in-link")).json()
    offers = []
    async with site.browser() as browser:
        for link in (invited["sign_in_link"], again):
            token = link["url"].partition("#token=")[2]
            reply = await browser.post("/api/v1/sign-in/link", json={"token": token})
            browser.headers["X-Slipway-Proof"] = reply.json()["page_proof"]
            offers.append(reply.json()["may_choose_password"])
        before = await settings_of(browser)
        await set_password(browser, login_name=before["suggested_login_name"])
        after = await settings_of(browser)

    assert offers == [True, False]
    assert (before["login_name"], before["suggested_login_name"]) == (None, "ada.lovelace")
    assert (before["is_offered"], before["totp_since"], before["recovery_codes_left"]) == (True, None, 0)
    assert after["login_name"] == "ada.lovelace"
    assert after["changed_at"] is not None
    assert (await site.sign_in(login_name="ada.lovelace")).is_success


async def test_a_change_needs_the_current_password_and_ends_the_other_sessions(site: Site) -> None:
    async with site.ada() as browser, site.browser() as other:
        reply = await site.sign_in()
        other.cookies.update(reply.cookies)
        other.headers["X-Slipway-Proof"] = reply.json()["page_proof"]
        assert_problem(await set_password(browser, password=OTHER), 403, "current_password_wrong")
        wrong = await set_password(browser, password=OTHER, current_password=OTHER)
        assert_problem(wrong, 403, "current_password_wrong")
        assert (await other.get("/api/v1/users/me")).is_success
        changed = await set_password(browser, password=OTHER, current_password=PASSWORD)
        assert changed.status_code == 204
        assert (await browser.get("/api/v1/users/me")).is_success
        assert_problem(await other.get("/api/v1/users/me"), 401, "not_authenticated")
    assert_problem(await site.sign_in(), 401, "login_refused")
    assert (await site.sign_in(password=OTHER)).is_success


async def test_a_removed_password_does_not_sign_in(site: Site) -> None:
    async with site.ada() as browser:
        removal = {"current_password": OTHER}
        refused = await browser.post("/api/v1/password/removal", json=removal)
        assert_problem(refused, 403, "current_password_wrong")
        removal["current_password"] = PASSWORD
        assert (await browser.post("/api/v1/password/removal", json=removal)).status_code == 204
        again = await browser.post("/api/v1/password/removal", json=removal)
        assert_problem(again, 409, "password_missing")
    assert_problem(await site.sign_in(), 401, "login_refused")


@pytest.mark.both_databases
async def test_a_login_name_belongs_to_one_account(site: Site) -> None:
    async with site.ada(), site.browser(await site.person("Other")) as other:
        assert_problem(await set_password(other, login_name="\uff21\uff24\uff21"), 409, "login_name_taken")
        assert_problem(await set_password(other, login_name="a b"), 400, "login_name_invalid")
        assert (await set_password(other, login_name="other@example.org")).is_success


async def test_a_key_does_not_change_how_its_user_signs_in(client: httpx.AsyncClient) -> None:
    replies = [
        await set_password(client),
        await client.post("/api/v1/password/removal", json={"current_password": PASSWORD}),
        await client.post("/api/v1/totp", json={"current_password": PASSWORD}),
        await client.post("/api/v1/totp/removal", json={"code": "123456"}),
    ]
    for reply in replies:
        assert_problem(reply, 403, "browser_session_needed")


async def test_guesses_at_the_current_password_are_slowed_down(site: Site) -> None:
    async with site.ada() as browser:
        replies = [await set_password(browser, current_password="wrong") for _ in range(11)]
    assert [reply.status_code for reply in replies] == [403] * 10 + [429]
    assert "Retry-After" in replies[-1].headers


async def test_an_authenticator_app_is_confirmed_and_then_asked_for(site: Site, app: App) -> None:
    async with site.ada() as browser:
        begun = (await browser.post("/api/v1/totp", json={"current_password": PASSWORD})).json()
        assert (await site.sign_in()).is_success, "it is not confirmed yet"
        refused = await browser.post("/api/v1/totp/confirmation", json={"code": "000000"})
        assert_problem(refused, 403, "totp_code_wrong")
        authenticator, codes = await enrol(browser)
        told = await settings_of(browser)
        again = await browser.post("/api/v1/totp", json={"current_password": PASSWORD})
        async with app.database.read() as session:
            secret = (await session.scalars(select(TotpSecret))).one()

    assert begun["qr_svg"].startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert begun["uri"].startswith("otpauth://totp/Slipway:ada?secret=")
    assert authenticator.secret not in secret.secret_encrypted
    assert_problem(again, 409, "totp_is_on")
    assert told["totp_since"] is not None
    assert told["recovery_codes_left"] == len(set(codes)) == 10
    assert_problem(await site.sign_in(), 401, "totp_code_needed")
    assert_problem(await site.sign_in(code="000000"), 401, "totp_code_wrong")
    assert_problem(await site.sign_in(password=OTHER, code=authenticator.now()), 401, "login_refused")
    assert (await site.sign_in(code=authenticator.now())).is_success


@pytest.mark.both_databases
async def test_a_code_counts_once_even_for_two_at_once(site: Site, app: App) -> None:
    async with site.ada() as browser:
        authenticator, codes = await enrol(browser)
    code = authenticator.now()
    at_once = await asyncio.gather(*(site.sign_in(code=code) for _ in range(4)))
    recovered = await asyncio.gather(*(site.sign_in(code=codes[0].upper()) for _ in range(4)))
    older = await site.sign_in(code=authenticator.at(time.time() - totp.STEP_SECONDS))
    async with app.database.read() as session:
        left = (await session.scalars(select(RecoveryCode))).all()

    for replies in (at_once, recovered):
        assert sorted(reply.status_code for reply in replies) == [200, 401, 401, 401]
        assert {reply.json().get("code") for reply in replies} == {None, "totp_code_wrong"}
    assert_problem(older, 401, "totp_code_wrong")
    assert len(left) == 9
    assert not {code.replace("-", "") for code in codes} & {row.code_hash for row in left}


async def test_codes_are_guessed_no_faster_than_passwords(site: Site) -> None:
    async with site.ada() as browser:
        await enrol(browser)
    replies = []
    for number in range(11):
        replies.append(await site.sign_in(address=f"192.0.2.{number}"))
        replies.append(await site.sign_in(code="000000", address=f"192.0.2.{number}"))
    codes = [reply.json()["code"] for reply in replies]
    assert codes == ["totp_code_needed", "totp_code_wrong"] * 10 + ["sign_in_throttled"] * 2


async def test_it_is_turned_off_by_a_code_or_by_an_administrator(
    site: Site, client: httpx.AsyncClient, owner: User
) -> None:
    async with site.ada() as browser:
        _, codes = await enrol(browser)
        refused = await browser.post("/api/v1/totp/removal", json={"code": "000000"})
        renewed = await browser.post("/api/v1/totp/recovery-codes", json={"code": codes[0]})
        old = await browser.post("/api/v1/totp/removal", json={"code": codes[1]})
        new = await browser.post("/api/v1/totp/removal", json={"code": renewed.json()["codes"][0]})
        assert_problem(refused, 403, "totp_code_wrong")
        assert_problem(old, 403, "totp_code_wrong")
        assert new.status_code == 204
        assert (await site.sign_in()).is_success

        await enrol(browser)
        ada = (await client.get("/api/v1/people")).json()[-1]
        assert ada["has_totp"] is True
        reset = await client.delete(f"/api/v1/people/{ada['id']}/totp")
        own = await client.delete(f"/api/v1/people/{owner.id}/totp")
    assert reset.status_code == 204
    assert_problem(own, 403, "role_not_manageable")
    log = (await client.get("/api/v1/audit-log", params={"target_id": ada["id"]})).json()["items"]
    changes = [one["action"] for one in log if one["action"].startswith(("two_factor", "recovery", "pass"))]
    assert changes == [
        "two_factor.disabled",
        "two_factor.enabled",
        "two_factor.disabled",
        "recovery_codes.renewed",
        "two_factor.enabled",
        "password.changed",
    ]
    assert (await site.sign_in()).is_success


async def test_a_link_needs_no_code(site: Site, app: App) -> None:
    async with site.ada() as browser:
        await enrol(browser)
        async with app.database.read() as session:
            ada = (await session.scalars(select(User).where(User.role == Role.MEMBER))).one()
        async with site.browser(ada) as another:
            assert (await another.get("/api/v1/users/me")).is_success


async def test_weak_passwords_are_refused_with_their_reason(site: Site, app: App) -> None:
    refused = {
        "password_too_short": ["short", "elevenchars"],
        "password_too_long": ["long words " * 30],
        "password_is_own_name": ["Ada-Lovelace-1815", "ada.lovelace@", "slipwayslipway", "SLIPWAY-2026!!"],
        "password_too_common": [
            "password1234",
            "passwordpassword",
            "aaaaaaaaaaaa",
            "abcabcabcabc",
            "123456789012",
            "QWERTYUIOPASDF",
            "1qaz2wsx3edc",
            "Dragon!2345678",
        ],
    }
    async with site.browser(await site.person()) as browser:
        for code, passwords in refused.items():
            for password in passwords:
                reply = await set_password(browser, login_name="lovelace", password=password)
                assert_problem(reply, 400, code)
        # The same letter "é" in two Unicode forms.
        assert (await set_password(browser, password="cafe\u0301 und Kuchen")).is_success
    assert (await site.sign_in(password="caf\u00e9 und Kuchen")).is_success
    async with app.database.read() as session:
        assert "Kuchen" not in (await session.scalars(select(PasswordLogin))).one().password_hash


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("Ada Lovelace", "ada.lovelace"), ("Élodie", "élodie"), ("!", ""), ("李 小龍", "李.小龍")],
)
def test_login_names_are_suggested_from_names(name: str, suggested: str) -> None:
    assert policy.suggested_login_name(name) == suggested
