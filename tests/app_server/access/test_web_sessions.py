"""Tests of web sessions: a user lists the browsers that are signed in, and signs them out."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select, update

from app_server.access.permissions import Permission
from app_server.core.config import Config
from app_server.core.database import now
from app_server.users.models import Role, WebSession
from tests.app_server.access.test_people import cookie_of, invite, signed_in
from tests.app_server.access.test_permission_matrix import acting_as
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.app_server.streams import close_code, watching

SESSIONS = "/api/v1/web-sessions"
ME = "/api/v1/users/me"


@pytest.fixture
async def ada(client: httpx.AsyncClient) -> dict[str, Any]:
    return await invite(client, "Ada")


@pytest.fixture
async def laptop(app: App, ada: dict[str, Any]) -> AsyncIterator[httpx.AsyncClient]:
    async with signed_in(app, ada["sign_in_link"]) as browser:
        yield browser


@pytest.fixture
async def phone(app: App, client: httpx.AsyncClient, ada: dict[str, Any]) -> AsyncIterator[httpx.AsyncClient]:
    link = (await client.post(f"/api/v1/people/{ada['person']['id']}/sign-in-link")).json()
    async with signed_in(app, link) as browser:
        yield browser


async def listed(browser: httpx.AsyncClient) -> list[dict[str, Any]]:
    reply = await browser.get(SESSIONS)
    assert reply.status_code == 200, reply.text
    return list(reply.json())


async def test_all_browsers_are_listed_and_this_one_is_marked(
    laptop: httpx.AsyncClient, phone: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    newest, oldest = await listed(phone)
    assert (newest["is_current"], oldest["is_current"]) == (True, False)
    assert [one["is_current"] for one in await listed(laptop)] == [False, True]
    assert newest["user_agent"].startswith("python-httpx")
    assert newest["address"] == "127.0.0.1"
    assert newest["last_used_at"] is not None
    assert await listed(client) == [], "the owner has signed in nowhere"


async def test_a_user_names_their_browsers_and_no_others(
    laptop: httpx.AsyncClient, phone: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    _, laptops = await listed(phone)
    path = f"{SESSIONS}/{laptops['id']}"
    assert laptops["name"] is None
    named = await phone.patch(path, json={"name": " Laptop at work "})
    assert named.json() == {**laptops, "name": "Laptop at work"}
    assert [(one["name"], one["is_current"]) for one in await listed(laptop)] == [
        (None, False),
        ("Laptop at work", True),
    ]
    for wrong in ({"name": "x" * 101}, {"name": " "}, {}):
        assert_problem(await phone.patch(path, json=wrong), 422, "validation_failed")
    assert_problem(await client.patch(path, json={"name": "Mine"}), 404, "web_session_not_found")
    assert (await phone.patch(path, json={"name": None})).json()["name"] is None


async def test_a_browser_is_signed_out_with_all_its_open_streams(
    app: App, laptop: httpx.AsyncClient, phone: httpx.AsyncClient
) -> None:
    async with watching(app, phone, Cookie=cookie_of(phone)) as stream:
        phones = next(one["id"] for one in await listed(laptop) if not one["is_current"])
        assert (await laptop.delete(f"{SESSIONS}/{phones}")).status_code == 204
        assert await close_code(stream) == 4001
    assert_problem(await phone.get(ME), 401, "not_authenticated")
    assert (await laptop.get(ME)).status_code == 200
    assert_problem(await laptop.delete(f"{SESSIONS}/{phones}"), 404, "web_session_not_found")


async def test_all_others_are_signed_out(laptop: httpx.AsyncClient, phone: httpx.AsyncClient) -> None:
    assert (await laptop.delete(SESSIONS)).status_code == 204
    assert [one["is_current"] for one in await listed(laptop)] == [True]
    assert_problem(await phone.get(ME), 401, "not_authenticated")


async def test_those_of_others_do_not_exist(laptop: httpx.AsyncClient, client: httpx.AsyncClient) -> None:
    (one,) = await listed(laptop)
    assert_problem(await client.delete(f"{SESSIONS}/{one['id']}"), 404, "web_session_not_found")
    assert (await client.delete(SESSIONS)).status_code == 204
    assert (await laptop.get(ME)).status_code == 200


async def test_a_key_to_read_signs_nothing_out(app: App) -> None:
    async with acting_as(app, Role.MEMBER, [Permission.READ]) as reader:
        assert await listed(reader) == []
        assert_problem(await reader.delete(SESSIONS), 403, "permission_missing")
        renamed = await reader.patch(f"{SESSIONS}/{uuid4()}", json={"name": "x"})
        assert_problem(renamed, 403, "permission_missing")


@pytest.mark.both_databases
async def test_use_moves_the_end_on_but_not_beyond_the_last_moment(
    app: App, laptop: httpx.AsyncClient
) -> None:
    config: Config = app.config
    began = now() - timedelta(days=config.session_max_days - 2)
    old = {"created_at": began, "last_used_at": began, "expires_at": now() + timedelta(days=1)}
    async with app.database.session() as session:
        await session.execute(update(WebSession).values(**old))

    async def is_moved() -> bool:
        (one,) = await listed(laptop)
        async with app.database.read() as session:
            end = await session.scalar(select(WebSession.expires_at))
        assert one["is_current"]
        return end == began + timedelta(days=config.session_max_days)

    await eventually(is_moved)
