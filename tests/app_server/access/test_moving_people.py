"""Tests of joining an organisation, by an invitation or a sign-in, and of moving to another organisation."""

from uuid import UUID

import httpx
import pytest

from app_server.callbacks.models import Callback, Processor
from app_server.core.identity_providers import IdentityProvider
from app_server.sign_in.identities.accounts import account_of
from app_server.sign_in.oidc.identity import identity_of
from app_server.users.models import Role
from tests.app_server.access.conftest import ORGANISATIONS, Two, account, id_of, names, team
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import ROOT, new_conversation, share
from tests.app_server.sharing.test_user_stream import following, read

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


@pytest.mark.both_databases
async def test_a_person_moves_with_what_they_own_and_sharing_ends(two: Two) -> None:
    grace = await account(two, two.grace)
    hers, common = await new_conversation(two.app, grace), await new_conversation(two.app, two.owner)
    await team(two.client, "Core", two.grace)
    (await two.grace.put(f"{ROOT}/{hers}/sharing", json={"everyone": "view"})).raise_for_status()
    await share(two.client, common, two.grace, "steer")
    async with two.app.database.session() as session:
        session.add(
            Callback(
                user_id=grace.id,
                name="All",
                processor=Processor.LOG,
                is_for_everyone=True,
                kinds=[],
                sources=[],
                tools=[],
                statuses=[],
            )
        )
    async with listening(two.app.public) as url, following(url, two.grace) as (socket, first):
        assert {one["id"] for one in first["conversations"]} == {hers.hex, common.hex}
        path = f"{ORGANISATIONS}/{two.acme_id}/people/{grace.id}"
        moved = await two.client.put(path, json={"role": "admin"})
        assert (moved.status_code, moved.json()["role"]) == (200, "admin"), moved.text
        assert (await read(socket, "removed"))["conversation_id"] == common.hex
        again = await read(socket, "snapshot")
        assert [one["id"] for one in again["conversations"]] == [hers.hex]
    assert sorted(await names(two.grace, "/api/v1/people")) == ["Grace", "Max", "Olga"]
    assert await names(two.grace, "/api/v1/teams") == []
    for who in (two.client, two.max):
        assert (await who.get(ROOT, params={"ids": hers.hex})).json() == [None]
    assert (await two.grace.get("/api/v1/callbacks")).json()[0]["is_for_everyone"] is False
    me = (await two.grace.get("/api/v1/users/me")).json()
    assert (me["organisation"], me["administers_installation"]) == ("Acme", False)
    for who in (two.client, two.olga):
        told = (await who.get("/api/v1/audit-log", params={"action": "member.moved"})).json()["items"]
        assert {one["target_id"] for one in told} == {grace.id.hex}
    assert_problem(await two.client.put(path, json={}), 409, "already_in_organisation")
    of_owner = f"{ORGANISATIONS}/{two.acme_id}/people/{two.owner.id}"
    assert_problem(await two.client.put(of_owner, json={}), 403, "role_not_manageable")


@pytest.mark.both_databases
async def test_an_organisation_begins_with_the_invitation_of_its_owner(
    app: App, client: httpx.AsyncClient
) -> None:
    assert_problem(await client.post(ORGANISATIONS, json={"name": "DEFAULT"}), 409, "organisation_name_taken")
    acme = (await client.post(ORGANISATIONS, json={"name": "Acme"})).json()
    assert (acme["is_default"], acme["person_count"]) == (False, 0)
    path = f"{ORGANISATIONS}/{acme['id']}"
    invited = await client.post(f"{path}/people", json={"name": "Olga", "role": "owner"})
    assert invited.status_code == 201, invited.text
    token = invited.json()["sign_in_link"]["url"].partition("#token=")[2]
    async with http_client(app.public) as browser:
        signed_in = await browser.post("/api/v1/sign-in/link", json={"token": token})
        assert signed_in.json()["administers_installation"] is False
        browser.headers["X-Slipway-Proof"] = signed_in.json()["page_proof"]
        assert await names(browser, "/api/v1/people") == ["Olga"]
    second = await client.post(f"{path}/people", json={"name": "Second", "role": "owner"})
    assert_problem(second, 409, "organisation_has_owner")

    assert_problem(await client.delete(path), 409, "organisation_has_people")
    assert_problem(await client.delete(f"{ORGANISATIONS}/{UUID(int=0)}"), 409, "organisation_is_default")
    [olga] = (await client.get(f"{path}/people")).json()
    back = f"{ORGANISATIONS}/{UUID(int=0)}/people/{olga['id']}"
    assert (await client.put(back, json={"role": "viewer"})).json()["role"] == "viewer"
    assert (await client.patch(path, json={"name": "Emca"})).json()["name"] == "Emca"
    assert (await client.delete(path)).status_code == 204
    assert_problem(await client.delete(path), 404, "organisation_not_found")
    assert await names(client, ORGANISATIONS) == ["Default"]


@on_sqlite
async def test_who_administered_the_former_organisation_has_no_way_in(
    two: Two, anonymous: httpx.AsyncClient
) -> None:
    link = (await two.olga.post(f"/api/v1/people/{id_of(two.max)}/sign-in-link")).json()["url"]
    signed_in = (await two.olga.post(f"/api/v1/people/{id_of(two.max)}/sign-in-link")).json()["url"]
    reply = await anonymous.post("/api/v1/sign-in/link", json={"token": signed_in.partition("#token=")[2]})
    proof = {"X-Slipway-Proof": reply.json()["page_proof"]}
    bot = {"name": "Bot", "role": "member"}
    bot_id = (await two.olga.post("/api/v1/people/service-accounts", json=bot)).json()["id"]
    keys = f"/api/v1/people/service-accounts/{bot_id}/keys"
    key = {"Authorization": f"Bearer {(await two.olga.post(keys, json={'name': 'x'})).json()['key']}"}
    for person_id in (id_of(two.max), bot_id):
        path = f"{ORGANISATIONS}/{UUID(int=0)}/people/{person_id}"
        (await two.client.put(path, json={})).raise_for_status()
    late = await anonymous.post("/api/v1/sign-in/link", json={"token": link.partition("#token=")[2]})
    assert late.status_code in {401, 403}, late.text
    for headers in (proof, key):
        assert (await anonymous.get("/api/v1/users/me", headers=headers)).status_code == 401
    assert (await two.max.get("/api/v1/users/me")).json()["organisation"] == "Default"


@on_sqlite
async def test_people_of_a_provider_join_the_organisation_that_its_settings_name(two: Two) -> None:
    provider = IdentityProvider(
        name="acme",
        title="Acme",
        issuer="https://id.test",
        client_id="slipway",
        organisation="acme",
        roles={"chiefs": "admin"},
        teams={"eng": "Engineering"},
    )

    async def sign_in() -> tuple[UUID, Role]:
        async with two.app.database.session() as session:
            identity = identity_of(provider, {"sub": "1", "name": "Ada", "groups": ["chiefs", "eng"]})
            user, _ = await account_of(session, provider, identity, None)
        return user.organisation_id, user.role

    assert await sign_in() == (two.acme_id, Role.ADMIN)
    assert sorted(await names(two.olga, "/api/v1/people")) == ["Ada", "Max", "Olga"]
    assert await names(two.olga, "/api/v1/teams") == ["Engineering"]
    [ada] = [one for one in (await two.olga.get("/api/v1/people")).json() if one["name"] == "Ada"]
    (await two.client.put(f"{ORGANISATIONS}/{UUID(int=0)}/people/{ada['id']}", json={})).raise_for_status()
    # After the move, her former identity provider does not set her role and her teams any more.
    assert await sign_in() == (UUID(int=0), Role.MEMBER)
    assert await names(two.client, "/api/v1/teams") == []
