"""Tests of private addresses: only owners and administrators may use models and MCP servers there."""

import ssl
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from app_server.core.addresses import parse_named
from app_server.core.errors import Forbidden
from app_server.http.guarded_client import Guard, GuardedTransport
from app_server.mcp_servers.schemas import SaveMcpServer
from app_server.mcp_servers.service import add_server
from app_server.mcp_servers.sign_in import SignIns
from app_server.settings.profiles import save_profile
from app_server.settings.schemas import LLMSettings
from app_server.settings.sharing import share_profile
from app_server.users.models import Role, User
from app_server.users.organisations import Organisation
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem
from tests.app_server.sandbox_keys import Keys, keys
from tests.support.outside import NEIGHBOUR, Authority, Dns, own_address, says, site
from tests.support.scripted_llm import ScriptedLLM, say

__all__ = ["keys"]

ASK = {"model": "ignored", "messages": [{"role": "user", "content": "hello"}]}
CHAT = "/llm/local/v1/chat/completions"


async def everybody(app: App) -> list[User]:
    async with app.database.read() as session:
        return list(await session.scalars(select(User)))


async def give_all_a_model(app: App, **llm: Any) -> None:
    for user in await everybody(app):
        async with app.database.session() as session:
            await save_profile(session, app.state["cipher"], user.id, "local", LLMSettings(**llm))


async def test_a_model_beside_this_server_is_for_its_owner(
    app: App, inner: httpx.AsyncClient, keys: Keys, scripted_llm: ScriptedLLM
) -> None:
    await give_all_a_model(
        app, model="openai/x", base_url=scripted_llm.base_url, api_key=scripted_llm.api_key
    )
    scripted_llm.fallback = lambda _: say("Hello.")
    of_owner = await inner.post(CHAT, json=ASK, headers=keys.own)
    of_member = await inner.post(CHAT, json=ASK, headers=keys.foreign)

    assert of_owner.status_code == 200
    assert_problem(of_member, 403, "private_address")


async def test_the_owner_of_another_organisation_shares_no_private_address(
    app: App, inner: httpx.AsyncClient, keys: Keys, scripted_llm: ScriptedLLM
) -> None:
    async with app.database.session() as session:
        stranger = await session.scalar(select(User).where(User.role == Role.MEMBER))
        assert stranger is not None
        acme = Organisation(name="Acme", name_key="acme")
        session.add(acme)
        await session.flush()
        chief = await create_user(session, name="Olga", role=Role.OWNER, organisation_id=acme.id)
        stranger.organisation_id = acme.id
        await session.flush()
        llm = LLMSettings(model="openai/x", base_url=scripted_llm.base_url, api_key="long-key")
        await save_profile(session, app.state["cipher"], chief.id, "local", llm)
        await share_profile(session, chief, "local")
    assert_problem(await inner.post(CHAT, json=ASK, headers=keys.foreign), 403, "private_address")
    assert not scripted_llm.requests


async def test_a_handed_over_model_stays_out_of_the_private_network_until_it_is_saved_again(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.fallback = lambda _: say("Hello.")
    near = {"model": "openai/x", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    metadata = {"model": "anthropic/x", "base_url": "http://169.254.169.254", "api_key": "k"}
    owner, member = sorted(await everybody(app), key=lambda user: user.role is Role.MEMBER)
    async with app.database.session() as session:
        for name, llm in (("local", near), ("other", metadata)):
            await save_profile(session, app.state["cipher"], member.id, name, LLMSettings(**llm))
    kept = dict.fromkeys(("conversations", "callbacks", "triggers"), "delete")
    body = {**kept, "profiles": "hand_over", "heir_id": owner.id.hex}
    (await client.post(f"/api/v1/people/{member.id}/deletion", json=body)).raise_for_status()
    other = CHAT.replace("local", "other")
    assert_problem(await inner.post(other, json=ASK, headers=keys.own), 403, "private_address")
    refused = await inner.post(CHAT, json=ASK, headers=keys.own)
    assert_problem(refused, 403, "private_address")
    assert "saves it again" in refused.json()["fix"]

    # Neither a change of another field nor a copy is a choice of the address.
    (await client.post("/api/v1/settings/profiles/local/activate")).raise_for_status()
    (await client.post("/api/v1/settings", json={"max_budget_per_task": 5})).raise_for_status()
    (await client.post("/api/v1/settings/profiles/copy", json={})).raise_for_status()
    for path in (CHAT, CHAT.replace("local", "copy")):
        assert_problem(await inner.post(path, json=ASK, headers=keys.own), 403, "private_address")
    assert not scripted_llm.requests

    (await client.post("/api/v1/settings/profiles/local", json={"llm": near})).raise_for_status()
    assert (await inner.post(CHAT, json=ASK, headers=keys.own)).status_code == 200


async def test_the_address_of_a_model_with_another_protocol_is_checked_too(
    app: App, inner: httpx.AsyncClient, keys: Keys
) -> None:
    await give_all_a_model(app, model="anthropic/x", base_url="http://169.254.169.254", api_key="k")

    assert_problem(await inner.post(CHAT, json=ASK, headers=keys.foreign), 403, "private_address")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "[::ffff:127.0.0.1]"])
async def test_an_mcp_server_beside_this_one_cannot_be_reached_by_a_member(
    app: App, inner: httpx.AsyncClient, keys: Keys, host: str
) -> None:
    [member] = [user for user in await everybody(app) if user.role is Role.MEMBER]
    given = SaveMcpServer.model_validate({"url": f"http://{host}:9/mcp"})
    async with app.database.session() as session:
        await add_server(session, app.state["cipher"], member.id, "near", given)
        _, key = await create_api_key(session, member, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as public:
        tested = await public.post("/api/v1/settings/mcp/near/test")
    called = await inner.post("/mcp/near", json={}, headers=keys.foreign)

    assert_problem(tested, 403, "private_address")
    assert_problem(called, 403, "private_address")


@pytest.mark.low_ports
async def test_a_name_is_looked_up_once_and_tls_asks_for_it(tmp_path: Path) -> None:
    authority, dns, address = Authority(tmp_path), Dns(), own_address()
    dns.answers["models.test"] = [[address], ["10.0.0.1"]]
    guard = Guard(parse_named(["127.0.0.0/8"]), dns.resolve)
    trust = ssl.create_default_context(cafile=str(authority.file))
    transport = GuardedTransport(guard, verify=trust)
    tls = authority.context("models.test")
    async with (
        site(says("hello"), tls=tls, address=address, port=443) as found,
        httpx.AsyncClient(transport=transport) as client,
    ):
        said = await client.get("https://models.test/v1")
        with pytest.raises(Forbidden, match=r"models\.test leads to a private address"):
            await client.get("https://models.test/v1")

    assert (said.text, found.seen) == ("hello", [("GET", "models.test", "/v1")])
    assert found.connections == 1


async def test_what_an_administrator_has_named_is_open_to_all() -> None:
    guard = Guard(parse_named([NEIGHBOUR]))
    async with site(says("hello")) as found, httpx.AsyncClient(transport=GuardedTransport(guard)) as client:
        assert (await client.get(f"http://{NEIGHBOUR}:{found.port}/")).text == "hello"
        with pytest.raises(httpx.ConnectError):
            await client.get("http://no-such-host.invalid/")


async def test_a_sign_in_goes_nowhere_that_a_members_server_could_not_be() -> None:
    async with site(says("{}")) as near:
        told = f'Bearer resource_metadata="http://127.0.0.1:{near.port}/.well-known/oauth-protected-resource"'
        # The name is resolved for each call: a public address at first, and then a private one.
        dns = Dns({"mcp.test": [[NEIGHBOUR], [NEIGHBOUR], ["127.0.0.1"]]})
        guard = Guard(parse_named([NEIGHBOUR]), dns.resolve)
        sign_ins = SignIns()
        async with site(says("", 401, **{"WWW-Authenticate": told})) as far:
            url = f"http://mcp.test:{far.port}/mcp"
            with pytest.raises(Forbidden, match="leads to a private address") as refusal:
                await sign_ins.start(uuid4(), uuid4(), url, "http://localhost/", guard)
        await sign_ins.close()

    assert refusal.value.code == "private_address"
    assert far.seen != []
    assert near.seen == []
