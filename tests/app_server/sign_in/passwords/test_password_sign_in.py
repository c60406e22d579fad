"""Tests of signing in with a login name and a password: what an attacker can learn from the answers, and how
guesses are slowed down.
"""

import asyncio
import statistics
import time
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from app_server.core.database import Database, now
from app_server.sign_in.passwords import throttle
from app_server.sign_in.passwords.hashing import AT_A_TIME, MAX_WAITING
from app_server.sign_in.passwords.models import PasswordLogin, SignInThrottle
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sign_in.passwords.conftest import OTHER, PASSWORD, Site, acts_as, cheap


async def test_a_password_signs_in_as_a_link_does(site: Site) -> None:
    async with site.ada("Ada.Lovelace"), site.browser() as browser:
        reply = await site.sign_in(login_name=" ADA.lovelace ")
        cookie = reply.headers["set-cookie"]
        acts_as(browser, reply)
        me = await browser.get("/api/v1/users/me")
        sessions = (await browser.get("/api/v1/web-sessions")).json()

    assert reply.json()["name"] == me.json()["name"] == "Ada Lovelace"
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert [one["address"] for one in sessions if one["is_current"]] == ["192.0.2.1"]


async def test_unknown_names_and_wrong_passwords_get_the_same_answer(site: Site) -> None:
    await site.person("Without")
    async with site.ada():
        replies = [
            await site.sign_in(password=OTHER),
            await site.sign_in(password="short"),
            await site.sign_in(password="x" * 2000),
            await site.sign_in(login_name="unknown"),
            await site.sign_in(login_name="without"),
            await site.sign_in(login_name="no name of anyone"),
        ]
    told = set()
    for reply in replies:
        assert_problem(reply, 401, "login_refused")
        told.add((reply.json()["detail"], tuple(sorted(reply.json()))))
    assert len(told) == 1


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_unknown_names_take_as_long_as_wrong_passwords(app: App) -> None:
    site = Site(app, password_hashing=cheap(time_cost=12, memory_cost=8192))
    took: dict[str, list[float]] = {"ada": [], "unknown": []}
    async with site.ada():
        for attempt in range(8):
            for name, times in took.items():
                began = time.perf_counter()
                reply = await site.sign_in(login_name=name, password=OTHER, address=f"192.0.2.{attempt}")
                times.append(time.perf_counter() - began)
                assert reply.status_code == 401
    known, unknown = (statistics.median(times) for times in took.values())
    assert 0.5 < known / unknown < 2


async def test_a_disabled_account_stays_out(site: Site) -> None:
    async with site.ada():
        async with site.app.database.session() as session:
            await session.execute(update(User).where(User.name == "Ada Lovelace").values(disabled_at=now()))
        right, wrong = await site.sign_in(), await site.sign_in(password=OTHER)
    assert_problem(right, 401, "account_disabled")
    assert_problem(wrong, 401, "login_refused")


async def test_it_can_be_turned_off(app: App) -> None:
    async with Site(app).ada():
        config = app.config.model_copy(update={"password_sign_in": False})
        off = Site(app, config=config)
        assert_problem(await off.sign_in(), 403, "password_sign_in_off")
        async with off.browser() as browser:
            told = (await browser.get("/api/v1/web-client/config")).json()
    assert told["password_sign_in"] is False


async def test_pages_offer_it_once_a_user_has_a_password(app: App) -> None:
    site = Site(app)

    async def is_offered() -> bool:
        async with site.browser() as browser:
            return bool((await browser.get("/api/v1/web-client/config")).json()["password_sign_in"])

    assert not await is_offered()
    async with site.ada():
        assert await is_offered()


async def test_a_hash_of_older_parameters_is_replaced_at_the_next_sign_in(app: App) -> None:
    async def stored() -> str:
        async with app.database.read() as session:
            return (await session.scalars(select(PasswordLogin))).one().password_hash

    newer = Site(app, password_hashing=cheap(time_cost=2))
    async with Site(app).ada():
        before = await stored()
        assert (await newer.sign_in(password=OTHER)).status_code == 401
        assert await stored() == before
        assert (await newer.sign_in()).is_success
        after = await stored()
        assert (await newer.sign_in()).is_success
        assert await stored() == after
    assert before.startswith("$argon2id$")
    assert "t=1" in before
    assert "t=2" in after


@pytest.mark.both_databases
async def test_guesses_at_one_account_are_slowed_down_on_all_servers_together(site: Site, app: App) -> None:
    database = Database(app.config.resolved_database_url)
    other = Site(app, database=database, password_hashing=cheap())
    async with site.ada():
        replies = await asyncio.gather(
            *(
                (site, other)[number % 2].sign_in(password=OTHER, address=f"192.0.2.{number}")
                for number in range(24)
            )
        )
        right = await other.sign_in(address="198.51.100.1")
        unknown = [
            await site.sign_in(login_name="unknown", address=f"198.51.100.{number}") for number in range(11)
        ]
    await database.close()

    assert sorted(reply.status_code for reply in replies) == [401] * 10 + [429] * 14
    assert_problem(right, 429, "sign_in_throttled")
    assert 0 < int(right.headers["Retry-After"]) <= 30
    assert right.json()["retry_after_seconds"] == int(right.headers["Retry-After"])
    assert [reply.status_code for reply in unknown] == [401] * 10 + [429]


async def test_blocks_grow_to_a_quarter_of_an_hour_and_a_success_forgives(site: Site, app: App) -> None:
    async def pass_time(span: timedelta) -> timedelta:
        """Moves the stored times of the throttle back by `span`, as if this time had passed. Returns for how
        long the last failure blocked the account.
        """
        async with app.database.session() as session:
            row = (await session.scalars(select(SignInThrottle).where(SignInThrottle.failures >= 10))).one()
            assert row.blocked_until is not None
            left = row.blocked_until - row.last_at
            row.blocked_until -= span
            row.last_at -= span
        return left

    async with site.ada():
        for number in range(10):
            await site.sign_in(password=OTHER, address=f"192.0.2.{number}")
        blocks = []
        for number in range(7):
            blocks.append(await pass_time(throttle.LONGEST_BLOCK))
            await site.sign_in(password=OTHER, address=f"198.51.100.{number}")
        assert_problem(await site.sign_in(), 429, "sign_in_throttled")
        await pass_time(throttle.LONGEST_BLOCK)
        assert (await site.sign_in()).is_success
        assert (await site.sign_in(password=OTHER)).status_code == 401

    assert [block.total_seconds() for block in blocks] == [30, 60, 120, 240, 480, 900, 900]


async def test_a_throttled_account_can_still_use_a_link(site: Site) -> None:
    async with site.ada() as browser:
        for number in range(11):
            reply = await site.sign_in(password=OTHER, address=f"192.0.2.{number}")
        assert reply.status_code == 429
        me = await browser.get("/api/v1/users/me")
        ada = User(id=me.json()["id"])
        async with site.browser(ada) as another:
            assert (await another.get("/api/v1/users/me")).is_success
        changed = await browser.put(
            "/api/v1/password",
            json={"login_name": "ada", "password": OTHER, "current_password": PASSWORD},
        )
        assert changed.is_success, "strangers do not use up the attempts of the settings"


async def test_guesses_from_one_address_are_slowed_down_and_own_successes_do_not_help(site: Site) -> None:
    async with site.ada():
        for number in range(50):
            reply = await site.sign_in(login_name=f"name{number}", address=f"2001:db8::{number:x}")
            assert reply.status_code == 401
            if number % 10 == 0:
                assert (await site.sign_in(address="2001:db8::1")).is_success
        assert_problem(await site.sign_in(address="2001:db8::ffff"), 429, "sign_in_throttled")
        assert (await site.sign_in(address="2001:db8:0:1::1")).is_success, "another network"


async def test_what_no_longer_counts_is_deleted(site: Site, app: App) -> None:
    await site.sign_in()
    async with app.database.session() as session:
        await session.execute(update(SignInThrottle).values(last_at=now() - timedelta(hours=25)))
    await site.sign_in(login_name="recent", address="192.0.2.99")
    await throttle.tidy(app.database)
    async with app.database.read() as session:
        left = (await session.scalars(select(SignInThrottle))).all()
    assert len(left) == 2
    assert not any("ada" in row.key_hash for row in left)


async def test_only_a_bounded_number_of_checks_waits() -> None:
    hashing = cheap()
    answers = await asyncio.gather(
        *(hashing.is_right(None, PASSWORD) for _ in range(AT_A_TIME + MAX_WAITING + 3)),
        return_exceptions=True,
    )
    await hashing.close()
    refused = [answer for answer in answers if isinstance(answer, Exception)]
    assert [getattr(answer, "code", None) for answer in refused] == ["sign_in_busy"] * 3
    assert True not in answers
