"""Tests of people: an administrator invites them by a link. When the administrator takes a right away, the
person loses it at once.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app_server.access.permissions import Permission
from app_server.users.models import Role
from tests.app_server.access.test_permission_matrix import acting_as
from tests.app_server.conftest import App, http_client
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem
from tests.app_server.streams import close_code, watching
from tests.support.signed_in import PROOF_HEADER

PEOPLE = "/api/v1/people"


async def invite(client: httpx.AsyncClient, name: str, role: str = "member") -> dict[str, Any]:
    reply = await client.post(PEOPLE, json={"name": name, "role": role})
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


@asynccontextmanager
async def signed_in(app: App, link: dict[str, Any]) -> AsyncIterator[httpx.AsyncClient]:
    """Yields the HTTP client of a browser that has signed in with the sign-in link."""
    async with http_client(app.public, headers={"Origin": "http://localhost:3000"}) as browser:
        token = link["url"].partition("#token=")[2]
        reply = await browser.post("/api/v1/sign-in/link", json={"token": token})
        reply.raise_for_status()
        browser.headers[PROOF_HEADER] = reply.json()["page_proof"]
        yield browser


def cookie_of(browser: httpx.AsyncClient) -> str:
    return f"slipway_session={browser.cookies['slipway_session']}"


async def test_an_invited_person_signs_in_and_sees_only_what_is_theirs(
    app: App, client: httpx.AsyncClient
) -> None:
    owners = (await client.post("/api/v1/app-conversations", json={})).json()["id"]
    invitation = await invite(client, " Ada ", "viewer")
    assert invitation["person"]["name"] == "Ada"
    assert invitation["sign_in_link"]["url"].startswith("http://localhost:3000/sign-in#token=")

    async with signed_in(app, invitation["sign_in_link"]) as browser:
        me = (await browser.get("/api/v1/users/me")).json()
        assert (me["name"], me["role"]) == ("Ada", "viewer")
        assert (await browser.get("/api/v1/app-conversations/search")).json()["items"] == []
        assert (await browser.get("/api/v1/app-conversations", params={"ids": [owners]})).json() == [None]
        refused = await browser.post("/api/v1/app-conversations", json={})
        assert_problem(refused, 403, "permission_missing")
        assert_problem(await browser.get(PEOPLE), 403, "permission_missing")

    [_, ada] = (await client.get(PEOPLE)).json()
    assert ada["signed_in_at"] is not None


async def test_a_disabled_person_is_out_at_once_and_back_when_enabled(
    app: App, client: httpx.AsyncClient
) -> None:
    invitation = await invite(client, "Ada")
    one = f"{PEOPLE}/{invitation['person']['id']}"
    unused = (await client.post(f"{one}/sign-in-link")).json()
    async with (
        signed_in(app, invitation["sign_in_link"]) as browser,
        watching(app, browser, Cookie=cookie_of(browser)) as stream,
    ):
        key = (await browser.post("/api/v1/api-keys", json={"name": "theirs"})).json()["key"]
        changed = await client.patch(one, json={"is_disabled": True})
        assert changed.json()["disabled_at"] is not None

        assert await close_code(stream) == 4001
        assert_problem(await browser.get("/api/v1/users/me"), 401, "account_disabled")
        async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as program:
            assert_problem(await program.get("/api/v1/users/me"), 401, "account_disabled")
        token = unused["url"].partition("#token=")[2]
        async with http_client(app.public, headers={"Origin": "http://localhost:3000"}) as stranger:
            refused = await stranger.post("/api/v1/sign-in/link", json={"token": token})
            assert_problem(refused, 401, "account_disabled")

        await client.patch(one, json={"is_disabled": False})
        assert (await browser.get("/api/v1/users/me")).status_code == 200
        async with signed_in(app, unused):
            pass


async def test_a_member_who_becomes_a_viewer_keeps_the_page_and_loses_the_rest(
    app: App, client: httpx.AsyncClient
) -> None:
    invitation = await invite(client, "Ada")
    async with signed_in(app, invitation["sign_in_link"]) as browser:
        await browser.post("/api/v1/app-conversations", json={})
        await client.patch(
            f"{PEOPLE}/{invitation['person']['id']}", json={"role": "viewer", "name": "Ada L."}
        )

        assert (await browser.get("/api/v1/users/me")).json()["name"] == "Ada L."
        assert_problem(await browser.post("/api/v1/app-conversations", json={}), 403, "permission_missing")


@pytest.mark.parametrize(
    ("manager", "theirs", "wanted"),
    [
        (Role.ADMIN, Role.ADMIN, {"name": "x"}),
        (Role.ADMIN, Role.OWNER, {"is_disabled": True}),
        (Role.ADMIN, Role.MEMBER, {"role": "admin"}),
        (Role.OWNER, Role.OWNER, {"role": "member"}),
    ],
)
async def test_roles_are_managed_from_above(
    app: App, manager: Role, theirs: Role, wanted: dict[str, Any]
) -> None:
    async with acting_as(app, theirs) as other:
        person = (await other.get("/api/v1/users/me")).json()["id"]
    async with acting_as(app, manager) as client:
        reply = await client.patch(f"{PEOPLE}/{person}", json=wanted)
        assert_problem(reply, 403, "role_not_manageable")
        link = await client.post(f"{PEOPLE}/{person}/sign-in-link")
        assert (link.status_code == 201) is (theirs is Role.MEMBER)


@pytest.mark.both_databases
async def test_an_admin_makes_no_admin_and_there_is_one_owner(app: App) -> None:
    async with acting_as(app, Role.ADMIN) as client:
        reply = await client.post(PEOPLE, json={"name": "x", "role": "admin"})
        assert_problem(reply, 403, "role_not_manageable")
        assert_problem(
            await client.post(PEOPLE, json={"name": "x", "role": "owner"}), 422, "validation_failed"
        )
        assert_problem(await client.patch(f"{PEOPLE}/{uuid4()}", json={"name": "x"}), 404, "person_not_found")


async def test_a_key_to_read_gets_no_way_into_a_sandbox(app: App, client: httpx.AsyncClient) -> None:
    made = (await client.post("/api/v1/app-conversations", json={})).json()["id"]

    async def url_for(who: httpx.AsyncClient) -> Any:
        [found] = (await who.get("/api/v1/app-conversations", params={"ids": [made]})).json()
        return found["sandbox_status"], found["conversation_url"]

    async def has_url() -> bool:
        return (await url_for(client))[1] is not None

    await eventually(has_url)
    key = (await client.post("/api/v1/api-keys", json={"name": "r", "scopes": [Permission.READ]})).json()[
        "key"
    ]
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as reader:
        assert await url_for(reader) == ("RUNNING", None)
        [sandbox] = (await reader.get("/api/v1/sandboxes/search")).json()["items"]
        assert (sandbox["status"], sandbox["exposed_urls"]) == ("RUNNING", None)
    await client.delete(f"/api/v1/app-conversations/{made}")
