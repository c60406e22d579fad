"""Tests of sign-ins at git hosts, with a real server that issues tokens: the stored token, and what the user
sees.
"""

from typing import Any
from uuid import UUID

import pytest

from app_server.git.models import GitOAuthApp
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import http_client
from tests.app_server.eventually import eventually
from tests.app_server.git_hosts.authorization.conftest import APPS, CREDENTIALS, SIGN_INS, Door
from tests.app_server.problems import assert_problem
from tests.support.oauth_host import CLIENT_SECRET

# Each kind of git host, with the path of its API at the test server, and the scopes that the app server
# requests.
KINDS = [
    ("github", "/api/v3", "repo read:org"),
    ("gitlab", "/api/v4", "api write_repository"),
    ("forgejo", "/api/v1", "write:repository write:issue read:user read:organization"),
    ("bitbucket", "/2.0", None),
    ("bitbucket_data_center", "/rest", "REPO_WRITE"),
    ("azure_devops", "", "499b84ac-1321-427f-aa17-267ca6975798/.default offline_access"),
]

NAMES_FOR_GIT = {"gitlab": "oauth2", "bitbucket_data_center": "x-token-auth"}


@pytest.mark.parametrize(("provider", "api", "scopes"), KINDS)
async def test_a_user_comes_back_with_a_token(
    door: Door, provider: str, api: str, scopes: str | None
) -> None:
    saved = await door.connect(provider, api_url=door.host.origin + api)
    assert (saved["provider"], saved["is_signed_in"], saved["needs_reconnect"]) == (provider, True, False)
    assert saved["scopes"] == scopes
    assert saved["expires_at"] is not None
    assert await door.credential() == saved
    assert saved["username"] == NAMES_FOR_GIT.get(provider)
    assert await door.token() in door.host.live
    assert await door.audited() == ["git_app.changed", "git_host.connected"]
    if provider in {"github", "gitlab", "forgejo", "bitbucket_data_center"}:
        assert (await door.who()).json()["login"] == "ada"


async def test_secrets_of_an_application_never_come_out(door: Door) -> None:
    saved = await door.register()
    assert saved["callback_url"] == "http://localhost:3000/settings/git-hosts/callback"
    reply = await door.client.get(APPS)
    assert reply.json() == {"callback_url": saved["callback_url"], "apps": [saved]}
    assert (CLIENT_SECRET not in reply.text, saved["has_client_secret"]) == (True, True)
    async with door.app.database.read() as session:
        row = await session.get_one(GitOAuthApp, UUID(saved["id"]))
    assert CLIENT_SECRET not in str(row.client_secret_encrypted)
    again = await door.register(client_id="another")
    assert (again["id"], again["client_id"]) == (saved["id"], "another")
    assert (await door.client.delete(f"{APPS}/{saved['id']}")).status_code == 204
    assert_problem(await door.client.delete(f"{APPS}/{saved['id']}"), 404, "git_app_not_found")
    assert (await door.client.get(SIGN_INS)).json() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"private_key": "-----BEGIN RSA PRIVATE KEY-----\n" + "x" * 200, "provider": "github"},
        {"sign_in_url": "https://user@host.example"},
        {"client_id": "two words"},
    ],
)
async def test_what_cannot_be_an_application_is_refused(door: Door, fields: dict[str, str]) -> None:
    body = {"host": "git.example.org", "provider": "gitlab", "client_id": "x", **fields}
    reply = await door.client.post(APPS, json=body)
    assert_problem(reply, 422, "validation_failed")
    assert "xxxx" not in reply.text


async def test_a_sign_in_belongs_to_the_browser_that_began_it(door: Door) -> None:
    app = await door.register()
    back = await door.begin(app["id"])
    wrong = await door.client.post(f"{SIGN_INS}/finish", json={**back, "state": "another"})
    assert_problem(wrong, 400, "git_sign_in_expired")
    cookie = door.client.cookies.get("slipway_git")
    async with door.app.database.session() as session:
        member = await create_user(session, name="Bea", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="tests")
    headers = {"Authorization": f"Bearer {key}", "Cookie": f"slipway_git={cookie}"}
    async with http_client(door.app.public, headers=headers) as other:
        assert_problem(await other.post(f"{SIGN_INS}/finish", json=back), 400, "git_sign_in_expired")
        # Administrators may use hosts in the private network. Other users may not.
        began = await other.post(SIGN_INS, json={"app_id": app["id"]})
        other.headers["Cookie"] = f"slipway_git={began.cookies['slipway_git']}"
        own = door.host.allow(began.json()["authorization_url"])
        assert_problem(await other.post(f"{SIGN_INS}/finish", json=own), 403, "private_address")
        assert_problem(await other.get(APPS), 403, "permission_missing")
    assert (await door.client.post(f"{SIGN_INS}/finish", json=back)).status_code == 200
    assert_problem(await door.client.post(f"{SIGN_INS}/finish", json=back), 400, "git_sign_in_expired")


async def test_a_refusal_of_the_host_is_told(door: Door) -> None:
    app = await door.register()
    back = await door.begin(app["id"])
    no = await door.client.post(f"{SIGN_INS}/finish", json={"state": back["state"], "error": "access_denied"})
    assert_problem(no, 400, "git_sign_in_denied")
    back = await door.begin(app["id"])
    wrong = await door.client.post(f"{SIGN_INS}/finish", json={**back, "code": "wrong"})
    assert_problem(wrong, 502, "git_sign_in_refused")
    assert "bad_verification_code" in wrong.json()["detail"]
    back = await door.begin(app["id"])
    door.host.is_down = True
    down = await door.client.post(f"{SIGN_INS}/finish", json=back)
    assert_problem(down, 502, "git_host_failed")
    assert (await door.client.get(CREDENTIALS)).json() == []


async def test_a_code_typed_at_the_host_signs_in(door: Door) -> None:
    app = await door.register("github")
    (offered,) = (await door.client.get(SIGN_INS)).json()
    assert offered["has_device_flow"] is True
    shown = (await door.client.post(f"{SIGN_INS}/device", json={"app_id": app["id"]})).json()
    assert (shown["user_code"], shown["interval"]) == ("WDJB-MJHT", 1)
    assert shown["verification_uri"] == f"{door.host.origin}/login/device"
    early = await _poll(door, shown["attempt"])
    assert (early["status"], door.host.questions) == ("pending", [])
    door.host.slow_down = 1
    state = await _once_asked(door, shown["attempt"], questions=1)
    assert (state["status"], state["interval"]) == ("pending", 6)
    (code,) = door.host.devices
    door.host.devices[code] = "denied"
    refused = await door.client.post(f"{SIGN_INS}/device/poll", json={"attempt": shown["attempt"]})
    assert_problem(refused, 400, "git_sign_in_denied")
    door.host.devices[code] = "allowed"
    done = await _poll(door, shown["attempt"])
    assert (done["status"], done["credential"]["scopes"]) == ("connected", "repo read:org")
    assert await door.token() in door.host.live


async def test_a_code_is_not_for_every_host(door: Door) -> None:
    app = await door.register("forgejo")
    reply = await door.client.post(f"{SIGN_INS}/device", json={"app_id": app["id"]})
    assert_problem(reply, 400, "git_host_cannot")
    forged = await door.client.post(f"{SIGN_INS}/device/poll", json={"attempt": "forged"})
    assert_problem(forged, 400, "git_sign_in_expired")


@pytest.mark.parametrize("provider", ["github", "gitlab"])
@pytest.mark.parametrize("how", ["disconnect", "paste"])
async def test_a_token_that_is_not_needed_any_more_is_revoked(door: Door, provider: str, how: str) -> None:
    saved = await door.connect(provider, api_url=f"{door.host.origin}/api/v3")
    token = await door.token()
    if how == "disconnect":
        assert (await door.client.delete(f"{CREDENTIALS}/{saved['id']}")).status_code == 204
    else:
        pasted = {"host": door.host.origin, "token": "a-pasted-token", "provider": provider}
        assert (await door.client.post(CREDENTIALS, json=pasted)).json()["is_signed_in"] is False

    async def is_revoked() -> bool:
        return "git_token.revoked" in await door.audited()

    await eventually(is_revoked)
    assert door.host.revoked == [token]
    if how == "paste":
        assert await door.token() == "a-pasted-token"


async def _poll(door: Door, attempt: str) -> dict[str, Any]:
    reply = await door.client.post(f"{SIGN_INS}/device/poll", json={"attempt": attempt})
    assert reply.status_code == 200, reply.text
    state: dict[str, Any] = reply.json()
    return state


async def _once_asked(door: Door, attempt: str, *, questions: int) -> dict[str, Any]:
    state: dict[str, Any] = {}

    async def is_asked() -> bool:
        state.update(await _poll(door, attempt))
        return len(door.host.questions) == questions

    await eventually(is_asked)
    return state
