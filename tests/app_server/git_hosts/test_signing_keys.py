"""Tests of adding the signing key to the user's account at GitHub and GitLab.

The OpenAPI documents that the other tests use do not have this call, so its form is checked here. The
same is true of the calls for verified e-mail addresses at GitLab and Forgejo.
"""

from typing import Any

import httpx
import orjson

from tests.app_server.conftest import App, listening
from tests.app_server.problems import assert_problem

SIGNING = "/api/v1/settings/commit-signing"
TAKEN_AT_GITHUB = {
    "message": "Validation Failed",
    "errors": [
        {"resource": "PublicKey", "code": "custom", "field": "key", "message": "key is already in use"}
    ],
}
TAKEN_AT_GITLAB = {"message": {"fingerprint_sha256": ["has already been taken"]}}


async def test_the_key_is_added_once_and_a_missing_scope_is_named(
    app: App, client: httpx.AsyncClient
) -> None:
    asked: list[tuple[str, Any]] = []
    answers: list[tuple[int, Any]] = []

    async def host(scope: Any, receive: Any, send: Any) -> None:
        asked.append((scope["path"], orjson.loads((await receive())["body"])))
        status, body = answers.pop(0)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": orjson.dumps(body)})

    async def add(url: str, *wanted: tuple[int, Any]) -> httpx.Response:
        answers.extend(wanted)
        return await client.post(f"{SIGNING}/hosts", json={"host": url})

    assert_problem(await add("github.com"), 409, "commit_signing_off")
    own = {"git_user_name": "Ada", "git_user_email": "ada@example.org"}
    (await client.post("/api/v1/settings", json=own)).raise_for_status()
    key = (await client.put(SIGNING, json={"is_on": True})).json()["public_key"]
    assert_problem(await add("github.com"), 403, "no_git_credential")
    async with listening(host) as url:
        saved = {"provider_tokens": {"github": {"token": "token-1", "host": url}}}
        (await client.post("/api/v1/secrets/git-providers", json=saved)).raise_for_status()
        assert (await add(url, (201, {"id": 1}))).json() == {"is_new": True}
        assert (await add(url, (422, TAKEN_AT_GITHUB))).json() == {"is_new": False}
        refused = await add(url, (404, {"message": "Not Found"}))
        assert_problem(refused, 403, "git_host_forbidden")
        assert refused.json()["fix"] == "The token needs: write:ssh_signing_key."
        saved = {"provider_tokens": {"gitlab": {"token": "token-2", "host": url}}}
        (await client.post("/api/v1/secrets/git-providers", json=saved)).raise_for_status()
        assert (await add(url, (201, {"id": 1}))).json() == {"is_new": True}
        assert (await add(url, (400, TAKEN_AT_GITLAB))).json() == {"is_new": False}
        saved = {"provider_tokens": {"forgejo": {"token": "token-3", "host": url}}}
        (await client.post("/api/v1/secrets/git-providers", json=saved)).raise_for_status()
        assert_problem(await add(url), 400, "git_host_cannot")

    title = asked[0][1]["title"]
    assert title.startswith("Slipway at ")
    assert asked[0] == ("/api/v3/user/ssh_signing_keys", {"title": title, "key": key})
    assert asked[3] == ("/api/v4/user/keys", {"title": title, "key": key, "usage_type": "signing"})
    log = (await client.get("/api/v1/audit-log", params={"action": "commit_signing.changed"})).json()["items"]
    assert ["added_at" in entry["details"] for entry in log] == [True] * 4 + [False]


async def test_an_address_that_the_account_has_not_verified_is_found(
    app: App, client: httpx.AsyncClient
) -> None:
    people: dict[str, tuple[int, Any]] = {}

    async def host(scope: Any, receive: Any, send: Any) -> None:
        del receive
        status, body = people[scope["path"]]
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": orjson.dumps(body)})

    def listed(*addresses: tuple[str, bool]) -> tuple[int, Any]:
        return 200, [
            {"email": one, "verified": is_verified, "confirmed_at": "2026-11-01" if is_verified else None}
            for one, is_verified in addresses
        ]

    async with listening(host) as url:

        async def is_verified(provider: str, address: str) -> bool | None:
            own = {"git_user_name": "Ada", "git_user_email": address}
            (await client.post("/api/v1/settings", json=own)).raise_for_status()
            saved = {"provider_tokens": {provider: {"token": f"token-{provider}", "host": url}}}
            (await client.post("/api/v1/secrets/git-providers", json=saved)).raise_for_status()
            reply = await client.get(f"{SIGNING}/hosts/address", params={"host": url})
            assert reply.json()["address"] == address, reply.text
            found: bool | None = reply.json()["is_verified"]
            return found

        asked = {"host": url}
        missing = await client.get(f"{SIGNING}/hosts/address", params=asked)
        assert_problem(missing, 409, "commit_identity_missing")

        people["/api/v3/user"] = 200, {"id": 7, "login": "Ada"}
        people["/api/v3/user/emails"] = listed(("Ada@Example.org", True), ("new@example.org", False))
        assert await is_verified("github", "ada@example.org") is True
        assert await is_verified("github", "7+ada@users.noreply.github.com") is True
        assert await is_verified("github", "new@example.org") is False
        people["/api/v3/user/emails"] = 404, {"message": "Not Found"}
        assert await is_verified("github", "new@example.org") is None

        confirmed = {"confirmed_at": "2026-11-01", "commit_email": "7-ada@users.noreply.git.example"}
        people["/api/v4/user"] = 200, {"id": 7, "username": "ada", "email": "ada@example.org", **confirmed}
        people["/api/v4/user/emails"] = listed(("second@example.org", True), ("new@example.org", False))
        assert await is_verified("gitlab", "second@example.org") is True
        assert await is_verified("gitlab", "ada@example.org") is True
        assert await is_verified("gitlab", "new@example.org") is False

        people["/api/v1/user/emails"] = listed(("ada@example.org", True), ("new@example.org", False))
        assert await is_verified("forgejo", "ada@example.org") is True
        assert await is_verified("forgejo", "new@example.org") is False
        assert await is_verified("azure_devops", "ada@example.org") is None
