"""Tests of ownership: for each route that names an object of one user, the object does not exist for other
users.
"""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.callbacks.models import Callback, Processor
from app_server.core.database import now
from app_server.git.models import GitCredential, PushScope
from app_server.git.providers import GitProvider
from app_server.memory.models import MemoryNote, MemoryProposal
from app_server.sandbox_records.models import SandboxSpec
from app_server.triggers.models import Trigger
from app_server.trust_grants.models import Decision, TrustGrant
from app_server.users.models import Role, User, WebSession
from tests.app_server.access.test_permission_matrix import description
from tests.app_server.conftest import App
from tests.app_server.problems import assert_problem
from tests.app_server.sharing.test_sharing import ROOT, new_conversation, person

NAME = "OWNERS"
BODIES: dict[str, dict[str, Any]] = {
    "PATCH /api/v1/memory/{note_id}": {"title": "x"},
    "PATCH /api/v1/settings/git-credentials/{credential_id}": {"username": "x"},
    "PATCH /api/v1/settings/mcp/{name}": {"enabled": False},
    "PATCH /api/v1/web-sessions/{session_id}": {"name": "x"},
    "PUT /api/v1/secrets/{name}": {"name": NAME, "value": "a long value"},
    "POST /api/v1/settings/profiles/{name}/rename": {"new_name": "x"},
}
CREATES = frozenset(("POST /api/v1/settings/mcp/{name}", "POST /api/v1/settings/profiles/{name}"))
"""Routes that create an object of the caller with this name if the caller has none. So they do not answer
404.
"""

ELSEWHERE = re.compile(
    r"\{(conversation|task|sandbox)_id\}"  # tested in test_access_matrix.py
    r"|/administration/|/people/|/shared-profiles/"  # for administrators only: tested in main/test_doors.py
    r"|/teams/"  # tested in teams/test_teams.py
    r"|/organisations/"  # tested in test_organisations.py
    # objects of an identity provider or a git host, not of a person
    r"|/identities/|/sign-in/|/git-webhooks/"
)
LISTS = (
    "api-keys",
    "callbacks",
    "consents",
    "memory",
    "memory-proposals",
    "secrets/search",
    "settings/git-credentials",
    "settings/mcp",
    "settings/network/credentials",
    "settings/profiles",
    "triggers",
    "web-sessions",
)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_a_thing_of_another_person_does_not_exist(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    things = await things_of(app, client, owner)
    before = await lists(client)
    tried = [
        (f"{method.upper()} {path}", path)
        for path, by_method in description()["paths"].items()
        for method in by_method
        if "{" in path and not ELSEWHERE.search(path)
    ]
    wrong = []
    async with person(app, "Grace") as member, person(app, "Alan", Role.ADMIN) as admin:
        for who in (member, admin):
            for route, path in tried:
                if route in CREATES:
                    continue
                foreign, unknown = [
                    await who.request(route.partition(" ")[0], filled(path, ids), json=BODIES.get(route, {}))
                    for ids in (things, {})
                ]
                answers = [(one.status_code, code_of(one)) for one in (foreign, unknown)]
                if answers[0] != answers[1] or foreign.status_code != 404:
                    wrong.append((route, answers, foreign.text[:200]))
            for each in await lists(who):
                assert not any(str(thing) in each for thing in things.values()), each
    assert not wrong
    assert await lists(client) == before


async def things_of(app: App, client: httpx.AsyncClient, owner: User) -> dict[str, str]:
    """Creates one object of each kind for the owner. Returns their ids or names, by the name of the path
    parameter.
    """

    async def made(path: str, body: dict[str, Any]) -> str:
        reply = await client.post(f"/api/v1/{path}", json=body)
        assert reply.is_success, reply.text
        return str((reply.json() or {}).get("id"))

    things = {
        "api_key_id": await made("api-keys", {"name": NAME}),
        "network": await made(
            "settings/network/credentials", {"host": "example.org", "value": "a long value"}
        ),
        "name": NAME,
    }
    await made("secrets", {"name": NAME, "value": "a long value"})
    await made(f"settings/profiles/{NAME}", {"llm": {"model": "openai/any", "api_key": "a-long-key"}})
    await made(f"settings/mcp/{NAME}", {"url": "https://mcp.example.org"})
    of_owner = {"user_id": owner.id}
    about = {**of_owner, "repository": "github.com/ada/engine", "name": NAME}
    host = {"provider": GitProvider.GITHUB, "origin": "https://github.com"}
    empty: dict[str, Any] = {"kinds": [], "sources": [], "tools": [], "statuses": []}
    executable = {"kind": "hooks", "path": "x", "name": NAME, "hash": "a" * 64}
    rows: dict[str, Any] = {
        "callback_id": Callback(**of_owner, name=NAME, processor=Processor.LOG, **empty),
        "consent_id": TrustGrant(**{**about, **executable}, decision=Decision.ALLOWED, offer=executable),
        "note_id": MemoryNote(**about, title=NAME, text="x"),
        "proposal_id": MemoryProposal(**about, title=NAME, text="x", conversation_id=uuid4()),
        "spec_id": SandboxSpec(**of_owner, name=NAME, base="debian", ignored=[]),
        "git": GitCredential(**of_owner, **host, token_encrypted="x", push_scope=PushScope.OWN),
        "trigger_id": Trigger(
            **of_owner, **host, repository="ada/engine", clone_url="x", events=["label"], secret_encrypted="x"
        ),
        "session_id": WebSession(
            **of_owner, token_hash="x", proof_hash="x", expires_at=now() + timedelta(hours=1)
        ),
    }
    async with app.database.session() as session:
        session.add_all(rows.values())
        await session.flush()
        return things | {name: row.id.hex for name, row in rows.items()}


def code_of(reply: httpx.Response) -> str | None:
    return str(reply.json()["code"]) if reply.status_code >= 400 else None


async def lists(client: httpx.AsyncClient) -> list[str]:
    found = [(await client.get(f"/api/v1/{name}")).raise_for_status().text for name in LISTS]
    return [re.sub(r'"last_used_at":("[^"]*"|null)', "", text) for text in found]


def filled(path: str, things: dict[str, str]) -> str:
    """Returns the path with the values of `things`. A parameter that `things` does not have gets an unknown
    id.
    """
    kind = "network" if "/network/" in path else "git"
    path = path.replace("{credential_id}", f"{{{kind}}}")
    unknown = {"name": "UNKNOWN"}
    return re.sub(r"\{(\w+)\}", lambda found: (unknown | things).get(found[1], UUID(int=7).hex), path)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_a_start_uses_nothing_of_another_person(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    await app.state["start_worker"].close()
    things = await things_of(app, client, owner)
    conversation_id = (await new_conversation(app, owner)).hex
    named = {
        "sandbox_id": conversation_id,
        "parent_conversation_id": conversation_id,
        "snapshot_id": conversation_id,
        "sandbox_spec_id": things["spec_id"],
        "llm_profile": NAME,
    }
    async with person(app, "Grace") as member:
        own = {"llm": {"model": "openai/any", "api_key": "a-long-key"}}
        (await member.post("/api/v1/settings/profiles/mine", json=own)).raise_for_status()
        for field, value in named.items():
            foreign, unknown = [
                await member.post(ROOT, json={field: each}) for each in (value, UUID(int=7).hex)
            ]
            assert_problem(foreign, unknown.status_code, unknown.json()["code"])
            assert foreign.json()["detail"].replace(value, "") == unknown.json()["detail"].replace(
                UUID(int=7).hex, ""
            ), field
        assert (await member.get(f"{ROOT}/count")).json() == 0
        body = {"name": "mine", "processor": "log", "conversation_id": conversation_id}
        assert_problem(await member.post("/api/v1/callbacks", json=body), 404, "not_found")
