"""Tests of SCIM 2.0: identity providers manage people and teams."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.app_server.conftest import App, http_client
from tests.app_server.sharing.test_sharing import person

BASE = "/scim/v2"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


def user(name: str, **attributes: Any) -> dict[str, Any]:
    return {"schemas": [USER], "userName": name, **attributes}


def patch(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"schemas": [PATCH], "Operations": [*operations]}


@pytest.fixture
async def provider(app: App, client: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    """Yields the HTTP client of an identity provider, with an API key of a service account."""
    body = {"name": "Directory", "role": "admin"}
    account = (await client.post("/api/v1/people/service-accounts", json=body)).raise_for_status().json()
    path = f"/api/v1/people/service-accounts/{account['id']}/keys"
    key = (await client.post(path, json={"name": "scim", "scopes": ["administer"]})).raise_for_status().json()
    headers = {"Authorization": f"Bearer {key['key']}", "Content-Type": "application/scim+json"}
    async with http_client(app.public, headers=headers) as http:
        yield http


async def people(client: httpx.AsyncClient) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in (await client.get("/api/v1/people")).json()}


def assert_error(reply: httpx.Response, status: int, kind: str | None = None) -> None:
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/scim+json"
    body = reply.json()
    assert body["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert (body["status"], body.get("scimType")) == (str(status), kind)
    assert body["detail"]


@pytest.mark.both_databases
async def test_a_person_comes_is_changed_goes_and_comes_back(
    provider: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    given = user("grace@example.org", displayName="Grace", externalId="g-1", roles=[{"value": "viewer"}])
    made = await provider.post(f"{BASE}/Users", json=given)
    assert made.status_code == 201, made.text
    id_ = made.json()["id"]
    assert made.headers["location"] == f"http://localhost:3000{BASE}/Users/{id_}"
    assert made.json()["active"] is True
    assert (await people(client))["Grace"]["role"] == "viewer"
    assert_error(await provider.post(f"{BASE}/Users", json=user("GRACE@example.org")), 409, "uniqueness")

    # In the form that Microsoft Entra ID sends.
    off = patch({"op": "Replace", "path": "active", "value": "False"})
    assert (await provider.patch(f"{BASE}/Users/{id_}", json=off)).json()["active"] is False
    assert (await people(client))["Grace"]["disabled_at"] is not None
    on = patch(
        {"op": "replace", "value": {"active": True, "displayName": "Grace Hopper"}},
        {"op": "replace", "path": "roles", "value": [{"value": "member"}]},
    )
    changed = (await provider.patch(f"{BASE}/Users/{id_}", json=on)).json()
    assert (changed["active"], changed["displayName"], changed["externalId"]) == (True, "Grace Hopper", "g-1")
    shown = (await people(client))["Grace Hopper"]
    assert (shown["role"], shown["disabled_at"]) == ("member", None)

    assert (await provider.delete(f"{BASE}/Users/{id_}")).status_code == 204
    assert_error(await provider.get(f"{BASE}/Users/{id_}"), 404)
    assert_error(await provider.delete(f"{BASE}/Users/{id_}"), 404)
    assert (await people(client))["Grace Hopper"]["disabled_at"] is not None, "what she has made stays"
    again = await provider.post(f"{BASE}/Users", json=user("grace@example.org", displayName="Grace"))
    assert (again.status_code, again.json()["id"]) == (201, id_)
    assert (await people(client))["Grace"]["disabled_at"] is None


async def test_a_role_that_an_administrator_has_given_stays_and_one_of_the_provider_can_be_taken_away(
    provider: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    given = user("grace@example.org", displayName="Grace")
    id_ = (await provider.post(f"{BASE}/Users", json=given)).json()["id"]
    (await client.patch(f"/api/v1/people/{id_}", json={"role": "viewer"})).raise_for_status()

    renamed = patch({"op": "replace", "path": "title", "value": "Rear admiral"})
    assert (await provider.patch(f"{BASE}/Users/{id_}", json=renamed)).json()["roles"] == [
        {"value": "viewer"}
    ]
    assert (await provider.put(f"{BASE}/Users/{id_}", json=given)).status_code == 200
    assert (await people(client))["Grace"]["role"] == "viewer"

    with_role = {**given, "roles": [{"value": "viewer"}]}
    assert (await provider.put(f"{BASE}/Users/{id_}", json=with_role)).status_code == 200
    taken = await provider.put(f"{BASE}/Users/{id_}", json=given)
    assert "roles" not in taken.json()
    assert (await people(client))["Grace"]["role"] == "member"


@pytest.mark.both_databases
async def test_requests_at_once_make_one_person_and_one_group(provider: httpx.AsyncClient) -> None:
    group = {"schemas": [GROUP], "displayName": "Core"}
    for path, body in (("Users", user("grace@example.org")), ("Groups", group)):
        replies = await asyncio.gather(*(provider.post(f"{BASE}/{path}", json=body) for _ in range(6)))
        assert sorted(reply.status_code for reply in replies) == [201, 409, 409, 409, 409, 409]
        assert (await provider.get(f"{BASE}/{path}")).json()["totalResults"] == 1


async def test_people_are_searched_sorted_and_cut_into_pages(provider: httpx.AsyncClient) -> None:
    for name in ("b@example.org", "a@example.org", "c@example.org"):
        assert (await provider.post(f"{BASE}/Users", json=user(name))).status_code == 201

    async def names(**query: Any) -> tuple[int, list[str]]:
        reply = (await provider.get(f"{BASE}/Users", params=query)).json()
        return reply["totalResults"], [one["userName"] for one in reply.get("Resources", [])]

    assert await names(filter='userName eq "A@EXAMPLE.ORG"') == (1, ["a@example.org"])
    assert await names(filter='userName sw "c" or userName eq "b@example.org"', sortBy="userName") == (
        2,
        ["b@example.org", "c@example.org"],
    )
    assert await names(startIndex=2, count=1) == (3, ["a@example.org"])
    assert await names(count=0) == (3, [])
    assert_error(await provider.get(f"{BASE}/Users", params={"filter": "userName eq"}), 400, "invalidFilter")
    few = (await provider.get(f"{BASE}/Users", params={"attributes": "active"})).json()["Resources"][0]
    assert {"id", "active"} <= few.keys()
    assert "userName" not in few


@pytest.mark.both_databases
async def test_groups_are_teams_and_leave_members_alone_that_administrators_have_added(
    app: App, provider: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    ids = [
        (await provider.post(f"{BASE}/Users", json=user(name))).json()["id"]
        for name in ("a@example.org", "b@example.org")
    ]
    members = [{"value": ids[0]}]
    made = await provider.post(
        f"{BASE}/Groups", json={"schemas": [GROUP], "displayName": "Core", "members": members}
    )
    assert made.status_code == 201, made.text
    group = made.json()["id"]
    async with person(app, "Grace") as grace:
        grace_id = grace.headers["X-Test-User"]
        (await client.put(f"/api/v1/teams/{group}/members/{grace_id}")).raise_for_status()

        more = patch({"op": "Add", "path": "members", "value": [{"value": ids[1]}]})
        added = (await provider.patch(f"{BASE}/Groups/{group}", json=more)).json()
        assert {one["value"] for one in added["members"]} == {*ids}
        less = patch({"op": "Remove", "path": f'members[value eq "{ids[0]}"]'})
        assert [
            one["value"]
            for one in (await provider.patch(f"{BASE}/Groups/{group}", json=less)).json()["members"]
        ] == [ids[1]]
        team = (await client.get(f"/api/v1/teams/{group}")).json()
        assert {(one["user_id"], one["provider"]) for one in team["members"]} == {
            (ids[1], "SCIM"),
            (grace_id, None),
        }
        with_team = (await provider.get(f"{BASE}/Users/{ids[1]}")).json()
        assert [(one["value"], one["display"]) for one in with_team["groups"]] == [(group, "Core")]

        renamed = {"schemas": [GROUP], "displayName": "Kernel", "members": []}
        assert "members" not in (await provider.put(f"{BASE}/Groups/{group}", json=renamed)).json()
        team = (await client.get(f"/api/v1/teams/{group}")).json()
        assert (team["name"], [one["user_id"] for one in team["members"]]) == ("Kernel", [grace_id])

    unknown = patch({"op": "add", "path": "members", "value": [{"value": "nobody"}]})
    assert_error(await provider.patch(f"{BASE}/Groups/{group}", json=unknown), 400, "invalidValue")
    same = {"schemas": [GROUP], "displayName": "KERNEL"}
    assert_error(await provider.post(f"{BASE}/Groups", json=same), 409, "uniqueness")
    assert (await provider.delete(f"{BASE}/Groups/{group}")).status_code == 204
    assert (await client.get("/api/v1/teams")).json() == []


async def test_a_provider_cannot_do_more_than_its_key(
    app: App, provider: httpx.AsyncClient, anonymous: httpx.AsyncClient
) -> None:
    admin = user("a@example.org", roles=[{"value": "admin"}])
    assert_error(await provider.post(f"{BASE}/Users", json=admin), 403)
    owner = user("a@example.org", roles=[{"value": "owner"}])
    assert_error(await provider.post(f"{BASE}/Users", json=owner), 400, "invalidValue")
    assert (await anonymous.get(f"{BASE}/Users")).status_code == 401
    async with person(app, "Grace") as grace:
        assert (await grace.get(f"{BASE}/Users")).status_code == 403


async def test_requests_that_cannot_work_get_scim_errors(provider: httpx.AsyncClient) -> None:
    assert_error(await provider.get(f"{BASE}/Printers"), 404)
    assert_error(await provider.put(f"{BASE}/Users", json={}), 405)
    assert_error(await provider.post(f"{BASE}/Users", content=b"{"), 400, "invalidSyntax")
    assert_error(await provider.post(f"{BASE}/Users", json={"schemas": [USER]}), 400, "invalidValue")
    secret = user("a@example.org", password="hunter2hunter2")
    assert_error(await provider.post(f"{BASE}/Users", json=secret), 400, "invalidSyntax")
    long = user("a@example.org", externalId="x" * 256)
    assert_error(await provider.post(f"{BASE}/Users", json=long), 400, "invalidValue")
    assert_error(await provider.get(f"{BASE}/Users/no-id"), 404)
