"""Tests of an agent's program on `localhost` that steals our cookie. It can, because browsers send a cookie
to all ports of its host.
"""

import json
from typing import Any

import httpx
import pytest
import websockets

from app_server.sign_in.service import create_link
from app_server.users.models import User
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.support.signed_in import PROOF_HEADER, sign_in_async

COOKIE = "slipway_session"
ORIGIN = "http://localhost:3000"


@pytest.fixture
def stolen(browser: httpx.AsyncClient) -> dict[str, str]:
    return {COOKIE: browser.cookies[COOKIE]}


@pytest.mark.parametrize("proof", [{}, {PROOF_HEADER: ""}, {PROOF_HEADER: "guess"}, {PROOF_HEADER: "ü"}])
async def test_a_stolen_cookie_with_an_invented_origin_opens_nothing(
    app: App, stolen: dict[str, str], proof: dict[str, str]
) -> None:
    given = {"Origin": ORIGIN, **{name: value.encode("latin-1") for name, value in proof.items()}}
    async with http_client(app.public, cookies=stolen, headers=given) as thief:
        assert_problem(await thief.get("/api/v1/users/me"), 401, "page_proof_missing")
        made = await thief.post("/api/v1/api-keys", json={"name": "thief"})
        assert_problem(made, 401, "page_proof_missing")
        assert "slipway sign-in-link" in made.json()["fix"]


async def test_a_stolen_cookie_cannot_sign_the_user_out(
    app: App, browser: httpx.AsyncClient, stolen: dict[str, str]
) -> None:
    async with http_client(app.public, cookies=stolen, headers={"Origin": ORIGIN}) as thief:
        assert (await thief.delete("/api/v1/sign-in/session")).status_code == 204
    assert (await browser.get("/api/v1/users/me")).status_code == 200


async def test_the_proof_of_another_session_does_not_fit(
    app: App, owner: User, stolen: dict[str, str], browser: httpx.AsyncClient
) -> None:
    async with app.database.session() as session:
        token = await create_link(session, owner.id)
    async with http_client(app.public, headers={"Origin": ORIGIN}) as other:
        await sign_in_async(other, token)
        other.cookies.clear()
        other.cookies.update(stolen)
        assert_problem(await other.get("/api/v1/users/me"), 401, "page_proof_missing")


async def test_a_stolen_cookie_opens_no_stream_and_the_proof_does(
    app: App, browser: httpx.AsyncClient, stolen: dict[str, str]
) -> None:
    made = (await browser.post("/api/v1/app-conversations", json={})).json()["id"]
    async with listening(app.public) as url:
        stream = f"{url.replace('http', 'ws')}/api/v1/conversation/{made}/events/stream"
        headers = {"Cookie": f"{COOKIE}={stolen[COOKIE]}", "Origin": url}

        async def first_frame(*protocols: str) -> tuple[Any, str | None]:
            offered: Any = protocols or None
            async with websockets.connect(stream, additional_headers=headers, subprotocols=offered) as socket:
                return json.loads(await socket.recv()), socket.subprotocol

        assert (await first_frame())[0]["code"] == "not_authenticated"
        refused, _ = await first_frame("slipway", "slipway.proof.guess")
        assert refused["code"] == "not_authenticated"
        frame, spoken = await first_frame("slipway", f"slipway.proof.{browser.headers[PROOF_HEADER]}")
        assert frame["type"] == "sync"
        assert spoken == "slipway"


@pytest.mark.parametrize(
    "empty", [{"X-Session-API-Key": ""}, {"Authorization": "Bearer "}, {"Authorization": "bearer"}]
)
async def test_an_empty_key_does_not_switch_off_the_check_of_the_origin(
    browser: httpx.AsyncClient, empty: dict[str, str]
) -> None:
    """A foreign page can add an empty key header to its requests. It must not get the user's cookie accepted
    this way.
    """
    headers = {"Origin": "http://evil.example", **empty}
    reply = await browser.post("/api/v1/api-keys", json={"name": "x"}, headers=headers)
    assert_problem(reply, 401, "not_authenticated")


async def test_an_empty_key_beside_a_good_one_is_not_looked_at(client: httpx.AsyncClient) -> None:
    reply = await client.get("/api/v1/users/me", headers={"X-Session-API-Key": ""})
    assert reply.status_code == 200
