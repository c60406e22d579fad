"""Tests of two organisations in one installation: the people of one organisation see nothing of the other."""

import asyncio
import re
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.access.permissions import Permission
from app_server.audit.verification import verify
from app_server.users.models import Role
from tests.app_server.access.conftest import ORGANISATIONS, Two, account, id_of, names, team
from tests.app_server.access.test_permission_matrix import description, operations
from tests.app_server.conftest import listening
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import ROOT, new_conversation, person
from tests.app_server.sharing.test_user_stream import PATIENCE_SECONDS, following, report

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)

SETTINGS = "/api/v1/administration/settings"
LIMITS = "/api/v1/administration/spending-limits"


@on_sqlite
async def test_foreign_people_and_teams_are_as_unknown_ones(two: Two) -> None:
    """Calls every route that names a person or a team. For a person or a team of another organisation, each
    route gives the same answer as for an unknown id.
    """
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
                # If the path names a person too, the team is Olga's: only the person is of another
                # organisation.
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
    # The same repository may belong to a team of each organisation.
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
        # Max gets no notice of the sharing: the next frame of his stream is about his own conversation.
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

    # An administrator of the default organisation may list the organisations. Only its owner may change
    # them.
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

    for who in (two.client, two.olga):  # both organisations may use the same profile name
        profile = {"llm": {"model": "openai/any", "api_key": "a-long-key"}}
        (await who.post("/api/v1/settings/profiles/fast", json=profile)).raise_for_status()
        (await who.put("/api/v1/settings/shared-profiles/fast")).raise_for_status()
    # Sandboxes of the other organisation do not count: Acme's quota allows one more.
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


@on_sqlite
async def test_no_name_of_a_team_is_that_of_another_organisation(two: Two) -> None:
    core = await team(two.olga, "Core")
    similar = f"{two.acme_id.hex}:Core"
    assert await team(two.client, similar) != core
    await team(two.client, "Other")
    assert_problem(await two.client.post("/api/v1/teams", json={"name": similar}), 409, "team_name_taken")
    assert await names(two.olga, "/api/v1/teams") == ["Core"]
