"""Tests of git tokens that are saved under the protocol's names of providers, and of a token's account."""

from typing import Any

import httpx
import pytest

from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client, listening
from tests.app_server.problems import assert_problem

PROVIDERS = "/api/v1/secrets/git-providers"
CREDENTIALS = "/api/v1/settings/git-credentials"
ME = "/api/v1/users/git-info"


async def save(client: httpx.AsyncClient, **tokens: Any) -> httpx.Response:
    return await client.post(PROVIDERS, json={"provider_tokens": tokens})


async def hosts(client: httpx.AsyncClient) -> list[str]:
    return [each["host"] for each in (await client.get(CREDENTIALS)).json()]


async def test_tokens_are_added_replaced_and_deleted(client: httpx.AsyncClient) -> None:
    at_acme = {"token": "token-2", "host": "git.acme.dev"}
    saved = await save(client, github={"token": "token-1"}, gitlab=at_acme)
    assert (saved.status_code, saved.json()) == (200, {"message": "The tokens are saved."})
    assert await hosts(client) == ["git.acme.dev", "github.com"]
    (row,) = [each for each in (await client.get(CREDENTIALS)).json() if each["host"] == "github.com"]
    (await client.patch(f"{CREDENTIALS}/{row['id']}", json={"push_scope": "any"})).raise_for_status()

    # An empty token keeps the stored one. A new token keeps the other settings of the host.
    (await save(client, github={"token": ""}, gitlab={"host": "git.acme.dev"})).raise_for_status()
    (await save(client, github={"token": "token-3"})).raise_for_status()
    scopes = {each["host"]: each["push_scope"] for each in (await client.get(CREDENTIALS)).json()}
    assert scopes == {"git.acme.dev": "own", "github.com": "any"}

    assert (await client.delete(PROVIDERS)).json() == {"message": "The tokens are deleted."}
    assert await hosts(client) == []


@pytest.mark.parametrize(
    ("tokens", "status", "code"),
    [
        ({"gitea": {"token": "token-1"}}, 400, "git_provider_unknown"),
        ({"bitbucket_data_center": {"token": "token-1"}}, 400, "git_host_missing"),
        ({"github": {"token": "token-1", "host": "a b/c"}}, 400, "git_host_wrong"),
        ({"github": {"token": "with blanks in it"}}, 422, "validation_failed"),
    ],
)
async def test_what_cannot_be_a_token_is_refused_and_nothing_kept(
    client: httpx.AsyncClient, tokens: dict[str, Any], status: int, code: str
) -> None:
    assert_problem(await save(client, forgejo={"token": "token-9"}, **tokens), status, code)
    assert await hosts(client) == []


async def test_a_git_host_says_whose_the_token_is(app: App, client: httpx.AsyncClient) -> None:
    asked: list[Any] = []

    async def host(scope: Any, receive: Any, send: Any) -> None:
        asked.append((scope["path"], dict(scope["headers"])[b"authorization"].decode()))
        known = asked[-1][1] == "token token-1"
        start: dict[str, Any] = {
            "type": "http.response.start",
            "status": 200 if known else 401,
            "headers": [
                (b"content-type", b"application/json"),
                (b"x-ratelimit-limit", b"5000"),
                (b"x-ratelimit-remaining", b"4987"),
                (b"x-ratelimit-reset", b"2000000000"),
            ],
        }
        await send(start)
        body = b'{"id": 7, "login": "ada", "full_name": "Ada", "avatar_url": "", "email": "ada@acme.dev"}'
        await send({"type": "http.response.body", "body": body})

    assert_problem(await client.get(ME), 403, "no_git_credential")
    async with listening(host) as url:
        await save(client, forgejo={"token": "token-1", "host": url})
        found = await client.get(ME)
        await save(client, forgejo={"token": "token-2", "host": url})
        refused = await client.get(ME, params={"host": url})
        # A member cannot make the app server call a private address.
        async with app.database.session() as session:
            user = await create_user(session, name="Somebody", role=Role.MEMBER)
            _, key = await create_api_key(session, user, name="tests")
        async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as member:
            await save(member, forgejo={"token": "token-1", "host": url})
            closed = await member.get(ME)

    assert found.json() == {
        "id": "7",
        "login": "ada",
        "avatar_url": "",
        "company": None,
        "name": "Ada",
        "email": "ada@acme.dev",
        "scopes": None,
        "rate_limit": {"limit": 5000, "remaining": 4987, "resets_at": "2033-05-18T03:33:20Z"},
    }
    assert asked[0] == ("/api/v1/user", "token token-1")
    assert_problem(refused, 502, "git_token_refused")
    assert_problem(closed, 403, "private_address")
    assert len(asked) == 2
    assert_problem(await client.get(ME), 502, "git_host_failed")


@pytest.mark.parametrize(
    ("token", "cause"),
    [
        ("with blanks in it", "this is not a token: it has characters that a token cannot have"),
        ("abc", "Value should have at least 4 characters, not 3"),
        (7, "Input should be a valid string"),
    ],
)
async def test_a_refusal_names_the_field_and_counts_characters(
    client: httpx.AsyncClient, token: object, cause: str
) -> None:
    problem = (await save(client, github={"token": token})).json()
    assert problem["detail"] == f"provider_tokens.github.token: {cause}"
    assert [error["loc"] for error in problem["errors"]] == [["body", "provider_tokens", "github", "token"]]
