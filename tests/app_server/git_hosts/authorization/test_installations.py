"""Tests of tokens for an installation of a GitHub App: each is for one repository and one hour. The app
server requests them with the app's private key.
"""

from typing import Any

import pytest
from joserfc.jwk import RSAKey

from app_server.core.errors import Forbidden
from app_server.git.address import parse_address
from app_server.users.models import Role, User
from tests.app_server.eventually import eventually
from tests.app_server.git_hosts.authorization.conftest import APPS, CREDENTIALS, Door
from tests.app_server.problems import assert_problem


@pytest.fixture(scope="module")
def key() -> RSAKey:
    return RSAKey.generate_key(2048, private=True)


async def register(door: Door, key: RSAKey) -> dict[str, Any]:
    door.host.public_key = key
    pem = key.as_pem(private=True).decode()
    return await door.register("github", api_url=f"{door.host.origin}/api/v3", private_key=pem)


async def use(door: Door, key: RSAKey) -> dict[str, Any]:
    app = await register(door, key)
    url = f"{APPS}/{app['id']}/installations"
    (found,) = (await door.client.get(url)).json()
    assert found == {"id": "4711", "account": "team", "has_all_repositories": False}
    reply = await door.client.post(f"{url}/{found['id']}/use")
    assert reply.status_code == 200, reply.text
    credential: dict[str, Any] = reply.json()
    return credential


async def test_git_gets_a_token_for_one_repository(door: Door, key: RSAKey, owner: User) -> None:
    saved = await use(door, key)
    assert (saved["installation_id"], saved["scopes"]) == ("4711", "contents:write metadata:read")
    tokens, host = door.app.state["git_tokens"], door.host
    harbour = parse_address(f"{host.origin}/team/harbour.git", None)
    first = await tokens.credentials(owner.id, harbour)
    assert (first.username, host.of_repository[first.password]) == ("x-access-token", "harbour")
    assert await tokens.credentials(owner.id, harbour) == first
    # There is no token for other repositories, so only public ones can be read.
    assert await tokens.credentials(owner.id, parse_address(f"{host.origin}/team/other", None)) is None
    assert await tokens.credentials(owner.id, parse_address(f"{host.origin}/else/harbour", None)) is None


async def test_the_api_is_called_as_the_app(door: Door, key: RSAKey, owner: User) -> None:
    await use(door, key)
    tokens, host = door.app.state["git_tokens"], door.host
    assert (await door.who()).json()["login"] == "slipway[bot]"
    wide = await tokens.token(owner.id, host.origin)
    narrow = await tokens.token(owner.id, host.origin, repository="team/harbour")
    assert (host.of_repository[wide], host.of_repository[narrow]) == (None, "harbour")
    renewed = await tokens.token(owner.id, host.origin, repository="team/harbour", refused=narrow)
    assert renewed not in {wide, narrow}
    assert await tokens.token(owner.id, host.origin, repository="team/other") == wide
    asked = {"provider": "github", "host": host.origin}
    found = await door.client.get("/api/v1/git/repositories/search", params=asked)
    assert found.json()["items"] == []
    await door.grow_old(expired=True)
    assert await tokens.token(owner.id, host.origin) not in {wide, None}


async def test_former_administrators_cannot_use_an_installation(door: Door, key: RSAKey, owner: User) -> None:
    await use(door, key)
    async with door.app.database.session() as session:
        (await session.get_one(User, owner.id)).role = Role.MEMBER
    harbour = parse_address(f"{door.host.origin}/team/harbour", None)
    with pytest.raises(Forbidden) as caught:
        await door.app.state["git_tokens"].credentials(owner.id, harbour)
    assert caught.value.code == "git_installation_not_permitted"


async def test_a_disconnected_installation_revokes_its_token(door: Door, key: RSAKey) -> None:
    saved = await use(door, key)
    token = await door.token()
    assert (await door.client.delete(f"{CREDENTIALS}/{saved['id']}")).status_code == 204

    async def is_revoked() -> bool:
        return door.host.revoked == [token]

    await eventually(is_revoked)


async def test_a_wrong_key_and_a_missing_one_are_told(door: Door, key: RSAKey) -> None:
    plain = await door.register("github", api_url=f"{door.host.origin}/api/v3")
    url = f"{APPS}/{plain['id']}/installations"
    assert_problem(await door.client.get(url), 409, "git_app_has_no_key")
    await register(door, key)
    await door.register(
        "github", api_url=f"{door.host.origin}/api/v3", client_id="another",
        private_key=key.as_pem(private=True).decode(),
    )  # fmt: skip
    assert_problem(await door.client.get(url), 502, "git_app_refused")
    assert_problem(await door.client.post(f"{url}/4711/use"), 502, "git_app_refused")
    assert_problem(await door.client.post(f"{url}/x/use"), 422, "validation_failed")
