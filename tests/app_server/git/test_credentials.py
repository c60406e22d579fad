"""Tests of a user's tokens for git hosts: they are saved in the settings, used for clones, and shown
nowhere.
"""

from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app_server.core.errors import StartFailure
from app_server.git.address import parse_address
from app_server.git.models import GitCredential
from app_server.git.repository_bundle import pack
from app_server.users.models import Role, User
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost
from tests.support.patience import PATIENCE_SECONDS

ROUTE = "/api/v1/settings/git-credentials"
CANARY = "canary-token-3f81"


async def save(client: httpx.AsyncClient, host: str = "github.com", **fields: Any) -> httpx.Response:
    return await client.post(ROUTE, json={"host": host, "token": CANARY, **fields})


async def test_tokens_go_in_encrypted_and_never_come_out(app: App, client: httpx.AsyncClient) -> None:
    reply = await save(client)
    assert reply.status_code == 201
    assert {**reply.json(), "id": "", "updated_at": ""} == {
        "id": "", "host": "github.com", "provider": "github", "has_stated_provider": False,
        "api_url": None, "username": None, "push_scope": "own", "updated_at": "",
        "is_signed_in": False, "installation_id": None, "scopes": None, "expires_at": None,
        "needs_reconnect": False, "certificate_authorities": None,
    }  # fmt: skip
    assert (await client.get(ROUTE)).json() == [reply.json()]
    async with app.database.read() as session:
        stored = await session.scalar(select(GitCredential))
    assert stored is not None
    assert CANARY not in stored.token_encrypted
    assert app.state["cipher"].decrypt(stored.token_encrypted) == CANARY


async def test_one_is_replaced_changed_and_deleted(client: httpx.AsyncClient) -> None:
    first = (await save(client)).json()
    again = (await save(client, "https://GitHub.com/", push_scope="any")).json()
    assert (again["id"], again["push_scope"]) == (first["id"], "any")
    url = f"{ROUTE}/{first['id']}"
    changed = (await client.patch(url, json={"push_scope": "own", "username": "bot"})).json()
    assert (changed["push_scope"], changed["username"]) == ("own", "bot")
    elsewhere = {"api_url": "https://evil.example/api"}
    assert_problem(await client.patch(url, json=elsewhere), 422, "validation_failed")
    assert_problem(await client.patch(url, json={"provider": "gitlab"}), 422, "validation_failed")
    anew = {"token": CANARY, "provider": "gitlab", **elsewhere}
    stated = (await client.patch(url, json=anew)).json()
    assert (stated["provider"], stated["api_url"]) == ("gitlab", elsewhere["api_url"])
    other = (await client.patch(url, json={"token": CANARY, "provider": "forgejo"})).json()
    assert (other["provider"], other["api_url"]) == ("forgejo", None)
    assert (await client.delete(url)).status_code == 204
    assert_problem(await client.delete(url), 404, "git_credential_not_found")
    assert (await client.get(ROUTE)).json() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"host": "https://github.com/octocat"},
        {"host": "me@github.com"},
        {"host": "git hub.com"},
        {"host": "http://[b"},
        {"host": "ssh://git@github.com"},
        {"token": "two words"},
        {"token": "abc\n"},
        {"username": "a:b"},
        {"push_scope": "everything"},
    ],
)
async def test_what_cannot_be_one_is_refused_without_being_repeated(
    client: httpx.AsyncClient, fields: dict[str, str]
) -> None:
    reply = await save(client, **fields)
    assert_problem(reply, 422, "validation_failed")
    assert CANARY not in reply.text


async def test_another_user_has_others(app: App, client: httpx.AsyncClient) -> None:
    url = f"{ROUTE}/{(await save(client)).json()['id']}"
    async with app.database.session() as session:
        user = await create_user(session, name="Somebody", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        assert (await other.get(ROUTE)).json() == []
        assert_problem(await other.delete(url), 404, "git_credential_not_found")
        assert_problem(await other.patch(url, json={}), 404, "git_credential_not_found")


@pytest.mark.parametrize(
    ("host", "repository", "opened"),
    [
        ("github.com", "octocat/hello", "x-access-token:" + CANARY),
        ("github.com", "git@github.com:octocat/hello.git", "x-access-token:" + CANARY),
        ("github.com", "ssh://git@github.com:22/octocat/hello", "x-access-token:" + CANARY),
        ("github.com", "https://me:own@github.com/octocat/hello", "me:own"),
        ("bitbucket.org", "https://bitbucket.org/a/b", "x-token-auth:" + CANARY),
        ("git.example.org:8443", "https://git.example.org:8443/a/b", "x-access-token:" + CANARY),
        ("git.example.org:8443", "https://git.example.org/a/b", None),
        ("github.com", "http://github.com/octocat/hello", None),
        ("github.com", "https://github.com.example.org/octocat/hello", None),
        ("github.com", "/srv/git/x", None),
    ],
)
async def test_a_token_is_for_its_own_host_alone(
    app: App, client: httpx.AsyncClient, owner: User, host: str, repository: str, opened: str | None
) -> None:
    await save(client, host)
    found = await app.state["git_tokens"].credentials(owner.id, parse_address(repository))
    assert (f"{found.username}:{found.password}" if found else None) == opened


@pytest.mark.parametrize(
    ("host", "username", "name"),
    [
        ("bitbucket.org", "ada@example.org", "x-bitbucket-api-token-auth"),
        ("bitbucket.org", "ada", "ada"),
        ("git.example.org", "ada@example.org", "ada@example.org"),
    ],
)
async def test_git_calls_owners_of_tokens_as_the_host_wants_it(
    app: App, client: httpx.AsyncClient, owner: User, host: str, username: str, name: str
) -> None:
    await save(client, host, username=username)
    address = parse_address(f"https://{host}/a/b")
    found = await app.state["git_tokens"].credentials(owner.id, address)
    assert found is not None
    assert found.username == name


async def test_a_private_repository_is_cloned_with_it(
    app: App, client: httpx.AsyncClient, owner: User, tmp_path: Path
) -> None:
    with GitHost(tmp_path / "host") as host:
        host.make("team/harbour")
        host.tokens[CANARY] = "read"
        address = parse_address(host.url("team/harbour"))

        async def packed(directory: str) -> str | None:
            (tmp_path / directory).mkdir()
            found = await app.state["git_tokens"].credentials(owner.id, address)
            result = await pack(
                address,
                None,
                directory=tmp_path / directory,
                timeout_seconds=PATIENCE_SECONDS,
                report=lambda _line: None,
                credentials=found,
            )
            return result.branch

        with pytest.raises(StartFailure) as failure:
            await packed("without")
        assert failure.value.code == "repository_not_found"
        assert "Git hosts" in failure.value.fix
        assert (await save(client, host.origin)).status_code == 201
        assert await packed("with") == "main"
