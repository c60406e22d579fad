"""Two organisations in one installation: people of one find nothing of the other."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.access.permissions import Permission
from app_server.audit.verification import verify
from app_server.callbacks.models import Callback, Processor
from app_server.core.identity_providers import IdentityProvider
from app_server.sign_in.identities.accounts import account_of
from app_server.sign_in.oidc.identity import identity_of
from app_server.users.models import Role, User
from tests.app_server.access.test_permission_matrix import description, operations
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import ROOT, new_conversation, person, share
from tests.app_server.sharing.test_user_stream import PATIENCE_SECONDS, following, read, report

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)

ORGANISATIONS = "/api/v1/organisations"
SETTINGS = "/api/v1/administration/settings"
LIMITS = "/api/v1/administration/spending-limits"


@dataclass(frozen=True)
class Two:
    """Two organisations. In the default one: its owner and Grace. In Acme: Olga, who owns it, and Max."""

    app: App
    owner: User
    client: httpx.AsyncClient
    grace: httpx.AsyncClient
    olga: httpx.AsyncClient
    max: httpx.AsyncClient
    acme_id: UUID


@pytest.fixture
async def two(app: App, client: httpx.AsyncClient, owner: User) -> AsyncIterator[Two]:
    await app.state["start_worker"].close()
    made = await client.post(ORGANISATIONS, json={"name": "Acme"})
    assert made.status_code == 201, made.text
    acme_id = UUID(made.json()["id"])
    async with AsyncExitStack() as stack:

        async def new(name: str, role: Role, **where: UUID) -> httpx.AsyncClient:
            return await stack.enter_async_context(person(app, name, role, **where))

        yield Two(
            app,
            owner,
            client,
            grace=await new("Grace", Role.MEMBER),
            olga=await new("Olga", Role.OWNER, organisation_id=acme_id),
            max=await new("Max", Role.MEMBER, organisation_id=acme_id),
            acme_id=acme_id,
        )


def id_of(client: httpx.AsyncClient) -> str:
    return str(client.headers["X-Test-User"])


async def account(two: Two, client: httpx.AsyncClient) -> User:
    async with two.app.database.read() as session:
        return await session.get_one(User, UUID(id_of(client)))


async def names(client: httpx.AsyncClient, path: str, of: str = "name") -> list[str]:
    rows = (await client.get(path)).raise_for_status().json()
    return [row[of] for row in rows]


async def team(client: httpx.AsyncClient, name: str, *members: httpx.AsyncClient) -> str:
    made = (await client.post("/api/v1/teams", json={"name": name})).raise_for_status().json()
    for member in members:
        (await client.put(f"/api/v1/teams/{made['id']}/members/{id_of(member)}")).raise_for_status()
    return str(made["id"])


@on_sqlite
async def test_foreign_people_and_teams_are_as_unknown_ones(two: Two) -> None:
    """Every route that names a person or a team."""
    service = {"name": "Bot", "role": "member"}
    bot = (await two.client.post("/api/v1/people/service-accounts", json=service)).json()["id"]
    core = await team(two.client, "Core", two.grace)
    own_team = await team(two.olga, "Core")  # the same name as in the other organisation
    foreign = {"person_id": id_of(two.grace), "user_id": id_of(two.grace), "account_id": bot, "team_id": core}
    bodies: dict[str, dict[str, Any]] = {
        "/deletion": dict.fromkeys(("conversations", "profiles", "callbacks", "triggers"), "delete"),
        "/keys": {"name": "x"},
        "/teams/{team_id}": {"name": "x"},
        "/people/{user_id}/{name}": {"value": 1, "enforced": False},
        "/repositories": {"repositories": [], "members_see": "none"},
        "/teams/{team_id}/{name}": {"value": 5, "enforced": True},
        "/users/{user_id}": {"limit": 1, "period": "month"},
    }
    tried = 0
    for path, by_method in description()["paths"].items():
        named = re.findall(r"\{(person_id|user_id|account_id|team_id)\}", path)
        if not named or "{conversation_id}" in path or path.startswith(ORGANISATIONS):
            continue
        body = next((body for ending, body in bodies.items() if path.endswith(ending)), {})
        for method in by_method:
            answers = []
            for ids in (foreign, dict.fromkeys(foreign, uuid4().hex)):
                # The team of the path is Olga's where the person is what is foreign.
                place = {**ids, "team_id": own_team} if {"team_id", "user_id"} <= {*named} else ids
                url = path.format_map({**place, "name": "running_sandboxes", "api_key_id": uuid4()})
                reply = await two.olga.request(method, url, json=body)
                answers.append((reply.status_code, reply.json().get("code")))
            assert answers[0] == answers[1], (method, path, answers)
            assert answers[0][0] == 404, (method, path, answers)
            tried += 1
    assert tried >= 20
    rule = "/api/v1/administration/items/egress_rule/example.org"
    given = await two.olga.put(rule, params={"team_id": core}, json={"allows": True})
    assert_problem(given, 404, "team_not_found")
    # Each organisation has its own list of repositories of teams.
    listed = {"repositories": ["github.com/acme/shop"], "members_see": "none", "members_only": True}
    for who, id_ in ((two.client, core), (two.olga, own_team)):
        (await who.put(f"/api/v1/teams/{id_}/repositories", json=listed)).raise_for_status()
    owners = [
        (
            await who.get("/api/v1/repository-owner", params={"repository": "https://github.com/acme/shop"})
        ).json()
        for who in (two.grace, two.max)
    ]
    assert [one["team_id"] for one in owners] == [core, own_team]
    heir = {**bodies["/deletion"], "profiles": "hand_over", "heir_id": id_of(two.grace)}
    deleted = await two.olga.post(f"/api/v1/people/{id_of(two.max)}/deletion", json=heir)
    assert_problem(deleted, 404, "person_not_found")

    assert sorted(await names(two.olga, "/api/v1/people")) == ["Max", "Olga"]
    assert await names(two.olga, "/api/v1/teams", of="id") == [own_team]
    assert sorted(await names(two.client, "/api/v1/people")) == ["Bot", "Grace", "Owner"]
    assert await names(two.client, "/api/v1/teams", of="id") == [core]
    shown = (await two.olga.get(LIMITS)).json()
    assert [one["name"] for one in shown["users"]] == ["Max", "Olga"]


@on_sqlite
async def test_what_is_shared_with_everyone_stays_in_the_organisation(two: Two) -> None:
    conversation_id = await new_conversation(two.app, two.owner)
    path = f"{ROOT}/{conversation_id}"
    async with listening(two.app.public) as url, following(url, two.max) as (socket, _):
        (await two.client.put(f"{path}/sharing", json={"everyone": "steer"})).raise_for_status()
        # Not even that something was shared: the next frame is about his own conversation.
        own_id = await new_conversation(two.app, await account(two, two.max))
        (await two.max.patch(f"{ROOT}/{own_id}", json={"title": "Mine"})).raise_for_status()
        async with asyncio.timeout(PATIENCE_SECONDS):
            frames = [await socket.recv()]
            while own_id.hex not in frames[-1]:
                frames.append(await socket.recv())
        assert conversation_id.hex not in str(frames)
        assert (await two.grace.get(ROOT, params={"ids": conversation_id.hex})).json() != [None]
        for foreigner in (two.olga, two.max):
            assert (await foreigner.get(ROOT, params={"ids": conversation_id.hex})).json() == [None]
            assert (await foreigner.get(f"{path}/sharing")).status_code == 404
            assert (await foreigner.get(f"{path}/export")).status_code == 404
            found = (await foreigner.get(f"{ROOT}/search", params={"query": "title"})).json()
            assert conversation_id.hex not in str(found)
        assert (await two.olga.get(f"{ROOT}/count")).json() == 0
    core = await team(two.client, "Core")
    sharing = f"{ROOT}/{own_id}/sharing"
    for kind, id_ in (("people", id_of(two.grace)), ("teams", core)):
        for who in (two.max, two.olga):
            reply = await who.put(f"{sharing}/{kind}/{id_}", json={"access": "view"})
            assert reply.status_code == 404, reply.text
    for query in ("Grace", "Core"):
        found = await two.max.get(f"{sharing}/candidates", params={"query": query})
        assert found.json() == []
    found = await two.max.get(f"{sharing}/candidates", params={"query": "Olga"})
    assert [one["name"] for one in found.json()] == ["Olga"]


@on_sqlite
async def test_a_webhook_for_everyone_gets_the_events_of_the_own_organisation(two: Two) -> None:
    ours = await new_conversation(two.app, two.owner)
    theirs = await new_conversation(two.app, await account(two, two.max))
    wanted = {"name": "All", "processor": "log", "is_for_everyone": True}
    made = (await two.olga.post("/api/v1/callbacks", json=wanted)).raise_for_status().json()
    for conversation_id in (ours, theirs):
        await report(two.app, conversation_id, 1, "execution_status", "finished")
    deliveries = (await two.olga.get(f"/api/v1/callbacks/{made['id']}/deliveries")).json()["items"]
    assert [one["conversation_id"] for one in deliveries] == [theirs.hex]
    path = f"{ORGANISATIONS}/{UUID(int=0)}/people/{id_of(two.max)}"
    (await two.client.put(path, json={})).raise_for_status()
    left = await two.olga.get(f"/api/v1/callbacks/{made['id']}/deliveries")
    assert left.json()["items"] == []


@on_sqlite
async def test_only_the_default_organisation_runs_the_installation(two: Two) -> None:
    refused = [
        (await two.olga.request(method, path, json=None if method == "GET" else {})).json().get("code")
        for method, path, permission in operations()
        if permission is Permission.INSTALLATION
    ]
    assert len(refused) > 20
    assert set(refused) == {"permission_missing"}
    set_default = await two.olga.put(f"{LIMITS}/default", json={"limit": 1, "period": "month"})
    assert_problem(set_default, 403, "permission_missing")
    assert_problem(await two.olga.get("/scim/v2/Users"), 403, "scim_not_allowed")
    wide = await two.olga.post("/api/v1/api-keys", json={"name": "x", "scopes": ["installation"]})
    assert_problem(wide, 403, "stronger_key")
    path = "/api/v1/settings/network/credentials"
    of_server = {"host": "example.org", "value": "a long value", "scope": "server"}
    assert_problem(await two.olga.post(path, json=of_server), 403, "forbidden")
    made = (await two.client.post(path, json=of_server)).raise_for_status().json()
    assert [len((await who.get(path)).json()) for who in (two.grace, two.max)] == [1, 0]
    uses = await two.max.get(f"{path}/{made['id']}/uses")
    assert_problem(uses, 404, "credential_not_found")

    # An administrator of the default organisation sees the organisations, its owner changes them.
    async with person(two.app, "Alan", Role.ADMIN) as admin:
        assert await names(admin, ORGANISATIONS) == ["Default", "Acme"]
        for reply in (
            await admin.post(ORGANISATIONS, json={"name": "Mine"}),
            await admin.put(f"{ORGANISATIONS}/{UUID(int=0)}/people/{id_of(two.olga)}", json={}),
        ):
            assert_problem(reply, 403, "owner_of_installation_only")


@on_sqlite
async def test_settings_quotas_and_models_are_those_of_the_own_organisation(two: Two) -> None:
    value = {"value": 7, "enforced": True}
    (await two.client.put(f"{SETTINGS}/organisation/max_iterations", json=value)).raise_for_status()
    quota = {"value": 1, "enforced": True}
    await two.olga.put(f"{SETTINGS}/organisation/organisation_running_sandboxes", json=quota)
    budget = {"value": 5, "enforced": True}
    (await two.olga.put(f"{SETTINGS}/organisation/monthly_budget", json=budget)).raise_for_status()

    async def applies(who: httpx.AsyncClient, name: str) -> Any:
        rows = (await who.get("/api/v1/settings/levels")).json()
        return next(row["value"] for row in rows if row["name"] == name)

    assert [await applies(who, "max_iterations") for who in (two.grace, two.max)] == [7, None]
    total = "organisation_running_sandboxes"
    assert [await applies(who, total) for who in (two.grace, two.max)] == [None, 1]
    assert await names(two.client, SETTINGS) == ["max_iterations"]
    assert sorted(await names(two.olga, SETTINGS)) == ["monthly_budget", total]
    budgets = [(await who.get(LIMITS)).json()["budgets"] for who in (two.client, two.olga)]
    assert [len(one) for one in budgets] == [0, 1]
    rule = "/api/v1/administration/items/egress_rule/example.org"
    (await two.olga.put(rule, json={"allows": True})).raise_for_status()
    assert await names(two.max, "/api/v1/settings/levels/items") == ["example.org"]
    assert await names(two.grace, "/api/v1/settings/levels/items") == []
    assert await names(two.client, "/api/v1/administration/items") == []

    for who in (two.client, two.olga):  # both may use the same name
        profile = {"llm": {"model": "openai/any", "api_key": "a-long-key"}}
        (await who.post("/api/v1/settings/profiles/fast", json=profile)).raise_for_status()
        (await who.put("/api/v1/settings/shared-profiles/fast")).raise_for_status()
    # The sandboxes of others do not count: Acme may still run one.
    for _ in range(2):
        await new_conversation(two.app, two.owner)
    (await two.max.post(ROOT, json={"llm_profile": "fast"})).raise_for_status()
    assert_problem(await two.max.post(ROOT, json={"llm_profile": "fast"}), 429, "quota_reached")
    (await two.client.put(f"{SETTINGS}/organisation/llm_profile", json={"value": "fast", "enforced": True}))
    assert_problem(
        await two.client.delete("/api/v1/settings/shared-profiles/fast"), 409, "llm_profile_enforced"
    )
    (await two.olga.delete("/api/v1/settings/shared-profiles/fast")).raise_for_status()
    profiles = [(await who.get("/api/v1/settings/profiles")).text for who in (two.grace, two.max)]
    assert ["fast" in one for one in profiles] == [True, False]


@on_sqlite
async def test_each_organisation_reads_its_part_of_the_audit_log(two: Two) -> None:
    await team(two.olga, "Acme's")
    await team(two.client, "Ours")
    own = (await two.olga.get("/api/v1/audit-log")).json()["items"]
    assert {one["organisation_id"] for one in own} == {two.acme_id.hex}
    assert "Ours" not in str(own)
    exported = (await two.olga.get("/api/v1/audit-log/export")).text
    assert "Acme's" in exported
    assert "Ours" not in exported
    other = await two.olga.get("/api/v1/audit-log", params={"organisation_id": str(UUID(int=0))})
    assert_problem(other, 404, "organisation_not_found")
    every = (await two.client.get("/api/v1/audit-log")).json()["items"]
    assert {one["details"].get("name") for one in every} >= {"Acme's", "Ours", "Acme"}
    async with two.app.database.session() as session:
        assert (await verify(session)).problem is None


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
async def test_no_name_of_a_team_is_that_of_another_organisation(two: Two) -> None:
    core = await team(two.olga, "Core")
    similar = f"{two.acme_id.hex}:Core"
    assert await team(two.client, similar) != core
    await team(two.client, "Other")
    assert_problem(await two.client.post("/api/v1/teams", json={"name": similar}), 409, "team_name_taken")
    assert await names(two.olga, "/api/v1/teams") == ["Core"]


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
    # Her former provider says nothing about the role and the teams in another organisation.
    assert await sign_in() == (UUID(int=0), Role.MEMBER)
    assert await names(two.client, "/api/v1/teams") == []
