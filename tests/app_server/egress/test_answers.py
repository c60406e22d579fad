"""Tests of refused calls for users: how they see the refusals and answer them, and their network settings."""

import httpx
import pytest

from app_server.egress.models import EgressScope
from app_server.egress.settings import Scope
from tests.app_server.egress.conftest import WayOut
from tests.app_server.problems import assert_problem
from tests.support.outside import says

pytestmark = pytest.mark.low_ports

SETTINGS = "/api/v1/settings/network"
REPOSITORY = Scope(EgressScope.REPOSITORY, "github.com/acme/shop")


def network_of(way_out: WayOut) -> str:
    return f"/api/v1/app-conversations/{way_out.sandbox_id.hex}/network"


async def test_a_refusal_is_shown_once_for_each_host_until_it_is_answered(
    way_out: WayOut, client: httpx.AsyncClient
) -> None:
    for _ in range(2):
        await way_out.curl("https://wanted.test/")
    await way_out.curl("http://unwanted.test:8080/")
    shown = (await client.get(network_of(way_out))).raise_for_status().json()

    assert (shown["mode"], shown["repository"]) == ("allowlist", REPOSITORY.subject)
    assert [(each["host"], each["port"], each["count"]) for each in shown["refused"]] == [
        ("unwanted.test", 8080, 1),
        ("wanted.test", 443, 2),
    ]
    assert {each["client"] for each in shown["refused"]} == {"curl"}
    assert all(each["is_allowable"] for each in shown["refused"])

    answer = {"host": "unwanted.test", "port": 8080, "answer": "ignore"}
    shown = (await client.post(f"{network_of(way_out)}/answer", json=answer)).raise_for_status().json()
    assert [each["host"] for each in shown["refused"]] == ["wanted.test"]
    assert "403" in await way_out.curl("-i", "http://unwanted.test:8080/")


@pytest.mark.parametrize("host", ["10.1.2.3", "169.254.169.254", "[fd00::1]"])
async def test_users_are_asked_only_about_addresses_that_they_can_allow(
    way_out: WayOut, client: httpx.AsyncClient, host: str
) -> None:
    assert "leads to a private address" in await way_out.curl("-g", f"http://{host}/")
    shown = (await client.get(network_of(way_out))).raise_for_status().json()

    (refused,) = shown["refused"]
    assert (refused["host"], refused["reason"]) == (host.strip("[]"), "private_address")
    assert not refused["is_allowable"]


async def test_a_public_address_can_be_allowed(way_out: WayOut, client: httpx.AsyncClient) -> None:
    await way_out.curl("http://8.8.8.8/")
    shown = (await client.get(network_of(way_out))).raise_for_status().json()

    (refused,) = shown["refused"]
    assert (refused["reason"], refused["is_allowable"]) == ("not_allowed", True)


@pytest.mark.parametrize("answer", ["conversation", "repository"])
async def test_one_answer_lets_the_next_attempt_through(
    way_out: WayOut, client: httpx.AsyncClient, answer: str
) -> None:
    async with way_out.site("wanted.test", says("hello")):
        await way_out.curl("https://wanted.test/")
        body = {"host": "wanted.test", "port": 443, "answer": answer}
        shown = (await client.post(f"{network_of(way_out)}/answer", json=body)).raise_for_status().json()
        again = await way_out.curl("https://wanted.test/")
    settings = (await client.get(SETTINGS)).json()

    assert (shown["refused"], again) == ([], "hello")
    of_repository = [{"repository": REPOSITORY.subject, "mode": None, "hosts": ["wanted.test"]}]
    assert shown["allowed"] == (["wanted.test"] if answer == "conversation" else [])
    assert settings["repositories"] == (of_repository if answer == "repository" else [])


async def test_settings_hold_at_once_and_are_kept(way_out: WayOut, client: httpx.AsyncClient) -> None:
    before = (await client.get(SETTINGS)).raise_for_status().json()
    off = (
        await client.put(SETTINGS, json={"mode": "none", "hosts": ["A.test", "a.test", "b.test:22"]})
    ).json()
    refused = await way_out.curl("http://allowed.test/")
    body = {"repository": "acme/shop", "mode": "open", "hosts": []}
    (await client.put(f"{SETTINGS}/repositories", json=body)).raise_for_status()
    async with way_out.site("anything.test", says("hello"), tls=False):
        through = await way_out.curl("http://anything.test/")
    query = {"repository": REPOSITORY.subject}
    (await client.delete(f"{SETTINGS}/repositories", params=query)).raise_for_status()
    after = (await client.get(SETTINGS)).json()

    assert (before["mode"], before["default_mode"], before["is_enforced"]) == (None, "allowlist", False)
    assert {"allowed.test", "github.com"} <= {*before["default_hosts"]}
    assert (off["mode"], off["hosts"]) == ("none", ["a.test", "b.test:22"])
    assert "the network is switched off" in refused
    assert through == "hello"
    assert after == off


@pytest.mark.parametrize("host", ["", "http://a.test", "127.1", "*", "a.test:99999"])
async def test_an_invalid_host_is_not_saved(client: httpx.AsyncClient, host: str) -> None:
    assert_problem(await client.put(SETTINGS, json={"mode": None, "hosts": [host]}), 422, "validation_failed")


async def test_what_was_tried_is_listed_in_pages(way_out: WayOut, client: httpx.AsyncClient) -> None:
    async with way_out.site("allowed.test", says("hello")):
        await way_out.curl("https://allowed.test/")
    await way_out.curl("http://wanted.test/")
    first = (await client.get(f"{SETTINGS}/records", params={"limit": 1})).raise_for_status().json()
    further = {"limit": 1, "page_id": first["next_page_id"], "sandbox_id__eq": way_out.sandbox_id.hex}
    second = (await client.get(f"{SETTINGS}/records", params=further)).raise_for_status().json()

    tried = {(each["host"], each["reason"]) for page in (first, second) for each in page["items"]}
    assert tried == {("allowed.test", None), ("wanted.test", "not_allowed")}
    assert second["next_page_id"] is None
    assert_problem(await client.get(f"{SETTINGS}/records", params={"page_id": "x"}), 400, "bad_page_id")
