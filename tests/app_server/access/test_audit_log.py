"""Tests of the audit log over HTTP: which entries are written, who may read them, and how they are searched
and exported.
"""

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app_server.audit.models import AuditEntry
from app_server.audit.verification import verify
from app_server.users.models import Role, User
from tests.app_server.access.test_people import cookie_of, invite, signed_in
from tests.app_server.access.test_permission_matrix import acting_as
from tests.app_server.conftest import App
from tests.app_server.eventually import eventually
from tests.app_server.problems import assert_problem

LOG = "/api/v1/audit-log"


async def entries(client: httpx.AsyncClient, **wanted: Any) -> list[dict[str, Any]]:
    """Returns the entries of the audit log that match the query parameters `wanted`, the newest first."""
    reply = await client.get(LOG, params=wanted)
    assert reply.status_code == 200, reply.text
    return list(reply.json()["items"])


@pytest.fixture(autouse=True)
async def chain_is_whole(app: App) -> AsyncIterator[None]:
    yield
    async with app.database.read() as session:
        assert (await verify(session)).problem is None


async def test_people_keys_and_sign_ins_are_told_of(app: App, client: httpx.AsyncClient, owner: User) -> None:
    invitation = await invite(client, "Ada")
    ada = invitation["person"]["id"]
    async with signed_in(app, invitation["sign_in_link"]) as browser:
        key = (await browser.post("/api/v1/api-keys", json={"name": "ci", "scopes": ["read"]})).json()
        await browser.delete(f"/api/v1/api-keys/{key['id']}")
        await client.patch(f"/api/v1/people/{ada}", json={"role": "viewer", "name": "Ada L."})
        # the role stays the same, so no entry is written
        await client.patch(f"/api/v1/people/{ada}", json={"role": "viewer"})
        await browser.delete("/api/v1/sign-in/session", headers={"Cookie": cookie_of(browser)})
        await client.patch(f"/api/v1/people/{ada}", json={"is_disabled": True})

    found = await entries(client)
    assert [(one["action"], one["actor_name"], one["means"]) for one in reversed(found)] == [
        ("member.created", "Owner", "key"),
        ("sign_in_link.created", "Owner", "key"),
        ("sign_in.succeeded", "Ada", "link"),
        ("key.created", "Ada", "session"),
        ("key.deleted", "Ada", "session"),
        ("member.role_changed", "Owner", "key"),
        ("member.renamed", "Owner", "key"),
        ("sign_in.ended", "Ada L.", "session"),
        ("member.disabled", "Owner", "key"),
    ]
    by_action = {one["action"]: one for one in found}
    assert by_action["member.role_changed"]["details"] == {
        "name": "Ada",
        "role": "viewer",
        "before": "member",
    }
    assert by_action["key.created"]["details"] == {"name": "ci", "scopes": ["read"]}
    assert by_action["key.created"]["target_id"] == key["id"]
    assert by_action["key.created"]["address"] == "127.0.0.1"
    assert by_action["key.created"]["credential_id"] == by_action["sign_in.succeeded"]["target_id"]
    text = json.dumps(found)
    for secret in (key["key"], invitation["sign_in_link"]["url"].partition("=")[2]):
        assert secret not in text
    assert [one["id"] for one in await entries(client, actor_id=owner.id.hex, action="member.renamed")] == [7]
    assert [one["id"] for one in await entries(client, target_kind="user", target_id=ada, limit=2)] == [9, 7]


async def test_a_refused_sign_in_is_told_of(
    app: App, client: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    for _ in range(62):
        reply = await anonymous.post(
            "/api/v1/sign-in/link", json={"token": "wrong"}, headers={"Origin": "http://localhost:3000"}
        )
        assert_problem(reply, 400, "sign_in_link_invalid")

    async def are_written() -> bool:
        return len(await entries(client, outcome="refused", limit=100)) == 60

    await eventually(are_written)
    [newest] = await entries(client, limit=1)
    assert (newest["action"], newest["actor_id"], newest["details"]) == (
        "sign_in.refused",
        None,
        {"code": "sign_in_link_invalid"},
    )


async def test_pages_and_times_find_each_entry_once(client: httpx.AsyncClient) -> None:
    for name in "abcde":
        await client.post("/api/v1/api-keys", json={"name": name})
    seen: list[int] = []
    page_id = None
    while True:
        params = {"limit": 2, **({"page_id": page_id} if page_id else {})}
        page = (await client.get(LOG, params=params)).json()
        seen += [one["id"] for one in page["items"]]
        if (page_id := page["next_page_id"]) is None:
            break
    assert seen == [5, 4, 3, 2, 1]
    middle = (await entries(client))[2]["happened_at"]
    assert [one["id"] for one in await entries(client, since=middle)] == [5, 4, 3]
    assert [one["id"] for one in await entries(client, until=middle)] == [2, 1]
    assert_problem(await client.get(LOG, params={"page_id": "bm8"}), 400, "bad_page_id")


async def test_the_log_is_exported_as_json_lines_and_as_csv(client: httpx.AsyncClient) -> None:
    await client.post("/api/v1/api-keys", json={"name": '=cmd|"x"'})
    reply = await client.get(f"{LOG}/export")
    assert reply.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert [one["action"] for one in lines] == ["key.created", "audit_log.exported"]

    await client.patch("/api/v1/users/me", json={})
    reply = await client.get(f"{LOG}/export", params={"format": "csv", "action": "key.created"})
    assert 'filename="audit-log-' in reply.headers["content-disposition"]
    [row] = csv.DictReader(io.StringIO(reply.text))
    assert json.loads(row["details"]) == {"name": '=cmd|"x"'}
    assert row["hash"] == lines[0]["hash"]


async def test_members_and_keys_without_the_scope_do_not_see_the_log(app: App) -> None:
    async with acting_as(app, Role.MEMBER) as member:
        assert_problem(await member.get(LOG), 403, "permission_missing")
        assert_problem(await member.get(f"{LOG}/export"), 403, "permission_missing")
    async with acting_as(app, Role.ADMIN, []) as weak:
        assert_problem(await weak.get(LOG), 403, "permission_missing")
    async with app.database.read() as session:
        assert (await session.scalars(select(AuditEntry))).all() == []


@pytest.mark.parametrize("field", ["since", "until"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_time_that_utc_cannot_express_is_refused(
    client: httpx.AsyncClient, field: str, moment: str
) -> None:
    for path in (LOG, f"{LOG}/export"):
        assert_problem(await client.get(path, params={field: moment}), 422, "validation_failed")
    assert await entries(client) == []
