"""Tests of service accounts: users for programs, which cannot sign in."""

import httpx

from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem

ROOT = "/api/v1/people/service-accounts"


async def test_a_service_account_acts_by_its_keys_and_never_signs_in(
    app: App, client: httpx.AsyncClient
) -> None:
    reply = await client.post(ROOT, json={"name": "Pipeline", "role": "member"})
    assert (reply.status_code, reply.json()["is_service"]) == (201, True)
    keys = f"{ROOT}/{reply.json()['id']}/keys"
    link = await client.post(f"/api/v1/people/{reply.json()['id']}/sign-in-link")
    assert_problem(link, 409, "service_account_cannot_sign_in")
    made = (await client.post(keys, json={"name": "ci", "scopes": ["read"], "expires_in_days": 30})).json()
    async with http_client(app.public, headers={"Authorization": f"Bearer {made['key']}"}) as program:
        assert (await program.get("/api/v1/users/me")).json()["name"] == "Pipeline"
        refused = await program.post("/api/v1/app-conversations", json={})
        assert_problem(refused, 403, "permission_missing")
        [shown] = (await client.get(keys)).json()
        assert (shown["name"], shown["scopes"]) == ("ci", ["read"])
        assert (await client.delete(f"{keys}/{made['id']}")).status_code == 204
        assert_problem(await program.get("/api/v1/users/me"), 401, "not_authenticated")


async def test_its_keys_have_at_most_the_rights_of_their_maker(app: App, client: httpx.AsyncClient) -> None:
    account = (await client.post(ROOT, json={"name": "Robot", "role": "admin"})).json()
    async with app.database.session() as session:
        admin = await create_user(session, name="Ada", role=Role.ADMIN)
        _, key = await create_api_key(session, admin, name="tests", scopes=["read", "administer"])
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        reply = await other.post(f"{ROOT}/{account['id']}/keys", json={"name": "x"})
        assert_problem(reply, 403, "role_not_manageable")
        member = (await other.post(ROOT, json={"name": "Robot", "role": "member"})).json()
        wanted = {"name": "x", "scopes": ["work"]}
        assert_problem(await other.post(f"{ROOT}/{member['id']}/keys", json=wanted), 403, "stronger_key")
        of_person = await other.post(f"{ROOT}/{admin.id}/keys", json={"name": "x"})
        assert_problem(of_person, 404, "service_account_not_found")
