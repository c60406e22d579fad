"""Tests of the audit log: it records changes of settings and the use of secrets by sandboxes. The audit log
contains no secret value.
"""

import httpx
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.sandbox_records.models import Sandbox
from app_server.users.models import User
from tests.app_server.conftest import App
from tests.app_server.sandbox_keys import Keys, keys

__all__ = ["keys"]

CANARY = "canary-value-4711"
SETTINGS = "/api/v1/settings"

CHANGES = [
    ("POST", "/api/v1/secrets", {"name": "TOKEN", "value": CANARY}),
    ("POST", "/api/v1/secrets", {"name": "TOKEN", "value": f"{CANARY}2"}),
    ("PUT", "/api/v1/secrets/TOKEN", {"name": "OTHER", "value": CANARY}),
    ("DELETE", "/api/v1/secrets/OTHER", None),
    ("POST", f"{SETTINGS}/git-credentials", {"host": "git.example.org", "token": CANARY}),
    ("POST", "/api/v1/secrets/git-providers", {"provider_tokens": {"github": {"token": CANARY}}}),
    ("DELETE", "/api/v1/secrets/git-providers", None),
    (
        "POST",
        f"{SETTINGS}/mcp/search",
        {"url": f"https://mcp.example.org/?token={CANARY}", "headers": {"Authorization": CANARY}},
    ),
    ("PATCH", f"{SETTINGS}/mcp/search", {"headers": {"Authorization": f"{CANARY}3"}}),
    ("DELETE", f"{SETTINGS}/mcp/search", None),
    ("PUT", f"{SETTINGS}/network", {"mode": "allowlist", "hosts": ["example.org"]}),
    (
        "POST",
        f"{SETTINGS}/network/credentials",
        {"host": "api.example.org", "kind": "bearer", "value": CANARY, "scope": "user"},
    ),
    ("POST", f"{SETTINGS}/profiles/main", {"llm": {"model": "openai/x", "api_key": CANARY}}),
    ("PUT", f"{SETTINGS}/shared-profiles/main", None),
    ("DELETE", f"{SETTINGS}/shared-profiles/main", None),
    ("POST", f"{SETTINGS}/profiles/main/rename", {"new_name": "other"}),
    ("DELETE", f"{SETTINGS}/profiles/other", None),
    ("PUT", f"{SETTINGS}/confirmation", {"mode": "always"}),
    ("POST", SETTINGS, {"conversation_settings_diff": {"confirmation_mode": False}}),
    ("PUT", f"{SETTINGS}/spending-limit", {"limit": 5, "period": "day"}),
    ("PUT", "/api/v1/administration/spending-limits/default", {"limit": 9}),
]
TOLD = [
    "secret.created TOKEN",
    "secret.changed TOKEN",
    "secret.changed TOKEN",
    "secret.deleted OTHER",
    "git_credential.changed https://git.example.org",
    "git_credential.changed https://github.com",
    "git_credential.deleted https://git.example.org",
    "git_credential.deleted https://github.com",
    "mcp_server.changed search",
    "mcp_server.changed search",
    "mcp_server.deleted search",
    "egress.changed user",
    "egress_credential.changed api.example.org",
    "profile.changed main",
    "profile.shared main",
    "profile.unshared main",
    "profile.changed main",
    "profile.deleted other",
    "confirmation.changed user",
    "confirmation.changed user",
    "spending_limit.changed OWNER",
    "spending_limit.changed default",
]


async def entries(app: App) -> list[AuditEntry]:
    async with app.database.read() as session:
        return list(await session.scalars(select(AuditEntry).order_by(AuditEntry.id)))


def assert_no_canary(found: list[AuditEntry]) -> None:
    for entry in found:
        assert CANARY not in repr({name: getattr(entry, name) for name in entry.__table__.columns.keys()})  # noqa: SIM118


async def test_changed_settings_are_told_of_without_their_secrets(
    app: App, client: httpx.AsyncClient, owner: User
) -> None:
    for method, path, body in CHANGES:
        reply = await client.request(method, path, json=body)
        assert reply.is_success, (path, reply.text)
    found = await entries(app)
    told = [f"{one.action.value} {one.target_id}".replace(owner.id.hex, "OWNER") for one in found]
    assert told == TOLD
    assert {one.actor_id for one in found} == {owner.id}
    assert_no_canary(found)


async def test_a_refused_change_is_not_told_of(app: App, client: httpx.AsyncClient) -> None:
    assert (await client.delete("/api/v1/secrets/NONE")).status_code == 404
    assert (await client.post(f"{SETTINGS}/profiles/demo", json={"llm": {"model": "x/y"}})).is_error
    assert await entries(app) == []


async def test_the_first_use_of_a_secret_by_a_sandbox_is_told_of(
    app: App, client: httpx.AsyncClient, inner: httpx.AsyncClient, keys: Keys, owner: User
) -> None:
    await client.post("/api/v1/secrets", json={"name": "TOKEN", "value": CANARY})
    async with app.database.read() as session:
        sandbox = await session.scalar(select(Sandbox).where(Sandbox.user_id == owner.id))
    assert sandbox is not None
    url = f"/api/v1/sandboxes/{sandbox.id.hex}/settings/secrets/TOKEN"
    for _ in range(2):
        assert (await inner.get(url, headers=keys.own)).text == CANARY
    assert (await inner.get(url, headers=keys.foreign)).status_code == 404
    [_, used] = found = await entries(app)
    assert (used.action, used.means, used.target_id) == ("secret.used", "sandbox", "TOKEN")
    assert (used.actor_id, used.credential_id) == (owner.id, sandbox.id)
    assert_no_canary(found)
