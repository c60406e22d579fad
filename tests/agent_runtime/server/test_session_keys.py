"""Tests of session keys that are replaced or expire while the server runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agent_runtime.server.config import Config
from agent_runtime.server.keys.session_keys import OVERLAP_SECONDS, SessionKeys
from tests.agent_runtime.server.conftest import start_request
from tests.support.agent_app import agent_app, called, eventually
from tests.support.agent_server import KEY
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import ScriptedLLM, say

NEXT = "the-next-session-key"
ROUTE = "/api/session_key"


class Clock:
    """A clock for tests. Its time changes only when a test sets `now`."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(clock: Clock) -> SessionKeys:
    return SessionKeys(Config(session_keys=("first",)), clock=clock)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with agent_app(tmp_path) as client:
        yield client


def shown(key: str) -> dict[str, str]:
    return {"X-Session-API-Key": key}


async def replaced(client: httpx.AsyncClient, by: str, key: str = NEXT, **more: float) -> httpx.Response:
    return await client.post(ROUTE, json={"session_api_key": key, **more}, headers=shown(by))


async def refusal(client: httpx.AsyncClient, key: str) -> str | None:
    """Returns the status and error code of the server's refusal of this key. None means that the server
    accepts the key.
    """
    reply = await client.get("/api/conversations/search", headers=shown(key))
    return None if reply.is_success else f"{reply.status_code} {reply.json()['code']}"


def test_a_replaced_key_opens_for_moments_and_replaces_nothing(keys: SessionKeys, clock: Clock) -> None:
    keys.replace("second", 60)

    assert (keys.judge("first"), keys.judge("second"), keys.present) == ("accepted", "accepted", "second")
    assert not keys.may_replace("first")
    clock.now += OVERLAP_SECONDS
    assert (keys.judge("first"), keys.judge("second")) == ("expired", "accepted")
    keys.replace("third", 60)
    assert keys.judge("first") == "wrong"
    assert list(keys.accepted) == ["third", "second"]


def test_an_expired_key_opens_nothing_but_can_be_replaced(keys: SessionKeys, clock: Clock) -> None:
    keys.replace("first", 60)
    clock.now += 60

    assert keys.judge("first") == "expired"
    assert list(keys.accepted) == []
    assert keys.may_replace("first")
    keys.replace("second", 60)
    assert (keys.judge("first"), keys.judge("second")) == ("wrong", "accepted")


def test_a_key_that_is_sent_again_lives_on(keys: SessionKeys, clock: Clock) -> None:
    keys.replace("first", 60)
    clock.now += 50
    keys.replace("first", 60)
    clock.now += 50

    assert keys.judge("first") == "accepted"


async def test_the_key_is_replaced_over_http(client: httpx.AsyncClient) -> None:
    assert (await replaced(client, KEY)).status_code == 200

    assert await refusal(client, NEXT) is None
    assert await refusal(client, "another") == "401 not_authenticated"
    for stranger in (KEY, "another", ""):
        answer = await replaced(client, stranger, "of-a-stranger-somewhere")
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


async def test_an_expired_key_is_refused_with_its_reason_until_it_is_renewed(
    client: httpx.AsyncClient,
) -> None:
    await replaced(client, KEY, expires_in_seconds=0.000_001)

    assert await refusal(client, NEXT) == "401 session_key_expired"
    assert (await replaced(client, NEXT, expires_in_seconds=600)).status_code == 200
    assert await refusal(client, NEXT) is None


async def test_an_open_server_gets_no_key(tmp_path: Path) -> None:
    async with agent_app(tmp_path, session_keys=()) as client:
        answer = await replaced(client, "")

    assert (answer.status_code, answer.json()["code"]) == (409, "no_session_key")


async def test_reports_carry_the_key_of_their_moment(tmp_path: Path, scripted_llm: ScriptedLLM) -> None:
    receiver = ReportReceiver()
    receiver.start()
    try:
        async with agent_app(tmp_path, webhooks=[{"base_url": receiver.url}]) as client:
            scripted_llm.fallback = say("Done.")
            body = start_request(scripted_llm, tmp_path, "Begin.")
            await called(client, "POST", "/api/conversations", json=body)
            await eventually(lambda: KEY in receiver.keys)
            assert receiver.keys == {KEY}
            await replaced(client, KEY)
            await called(client, "POST", "/api/conversations", json=body, headers=shown(NEXT))
            await eventually(lambda: NEXT in receiver.keys)
    finally:
        receiver.stop()
